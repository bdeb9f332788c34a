#include "tools/train/train.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>

#include "compiler/ir/printer.h"
#include "runtime/base/file.h"
#include "runtime/communicator/device_group.h"
#include "runtime/execute/profiler.h"
#include "runtime/tensor/checkpoint.h"
#include "runtime/threads/threads.h"
#include "tools/cli/build.h"
#include "tools/cli/program.h"
#include "tools/cli/shell.h"
#include "tools/json/json.h"
#include "tools/model/model_folder.h"
#include "tools/processes/devices.h"
#include "tools/processes/same.h"
#include "tools/run/progress.h"
#include "tools/run/run_folder.h"
#include "tools/run/same_run.h"
#include "tools/run/signals.h"
#include "tools/run/start_record.h"
#include "tools/train/begin.h"
#include "tools/train/prepared.h"
#include "tools/train/trainer.h"
#include "tools/train/training_data.h"

namespace graphrun {
namespace {

// The network of a new run, or of the run in `layout`. `training`: like new_network's.
Network open_network(LoadedJob job, const ModelLayout& layout, bool begun, std::vector<Diagnostic>& warnings,
                     std::optional<ReadExamples>& training) {
  if (!begun) return new_network(std::move(job), training);
  Network network = read_network(layout);
  check_same_job(job, network.job, layout.root);
  check_same_data(layout, warnings);
  copy_changeable(job.message, network.job.message);
  check_same_graphs(std::move(job), network, layout);
  return network;
}

// The checkpoint from which the run continues; nullopt if it ended before its first one and begins again. Skips damaged
// checkpoints with a warning.
std::optional<std::string> find_checkpoint(const ModelLayout& layout, std::vector<Diagnostic>& warnings) {
  NewestCheckpoint newest = newest_sound(layout.root);
  if (!newest.folder && !newest.damaged.empty()) {
    for (std::string& what : newest.damaged) what.insert(0, "note: ");
    newest.damaged.push_back("help: begin a run in another folder, or put a sound checkpoint back");
    throw UserError(
        ExitCode::kBadData, "E0685 bad-checkpoint",
        fmt::format("every checkpoint of the run in '{}' is damaged, so none is left to continue from", layout.root),
        std::move(newest.damaged));
  }
  for (const std::string& what : newest.damaged) {
    warnings.push_back(
        {Severity::kWarning, "E0685 bad-checkpoint", {}, what, {fmt::format("note: continuing from '{}'", *newest.folder)}});
  }
  return newest.folder;
}

// Profiles steps during its lifetime; the destructor writes the profile, however training ended.
class ProfiledSteps {
 public:
  ProfiledSteps(const std::string& file, Stepper& stepper, ProgressDisplay& display)
      : file_(file), stepper_(stepper), display_(display) {
    stepper_.profile(&profiler_);
  }
  ~ProfiledSteps() {
    stepper_.profile(nullptr);
    try {
      tell();
    } catch (const UserError&) {  // the log cannot be written, which also ends training
    }
  }

 private:
  void tell() {
    display_.log("where the time of the training steps went; a loop's share holds those of the nodes in it:");
    display_.log(profiler_.table());
    try {
      profiler_.write_chrome_trace(file_);
    } catch (const UserError& error) {
      display_.warn(error.diagnostics());
      return;
    }
    std::string text = fmt::format("the trace is in '{}'", file_);
    if (profiler_.dropped() > 0) {
      text += fmt::format(": the first {} events; the table counts {} more", Profiler::kMostEvents, profiler_.dropped());
    }
    display_.log(text);
  }

  const std::string file_;
  Stepper& stepper_;
  ProgressDisplay& display_;
  Profiler profiler_;
};

// Which parameters the folder of a finished run keeps as its model.
std::string kept_text(const Network& network, const Recipe& recipe, const Trainer& trainer) {
  const bool validates = !network.job.data.valid.empty();
  if (trainer.averaged() && validates) return "the average of the parameters";
  if (recipe.keep.empty() || !validates) return "that of the end";
  return fmt::format("that of epoch {}, the best by {}", trainer.best_epoch(), recipe.keep);
}

// Prints why the run ended, what its folder contains, and what can be done with it.
void tell_end(ProgressDisplay& display, const Network& network, const Recipe& recipe, const Trainer& trainer,
              const std::string& root) {
  const std::string folder = shell_quoted(root);
  display.log(fmt::format("the training ended: {}; the model in '{}' is {}",
                          trainer.done_text() + " (" + trainer.ended_by() + ")", root, kept_text(network, recipe, trainer)));
  const std::string use = !network.job.infer.empty()      ? fmt::format("infer {} FILE", folder)
                          : network.job.data.test.empty() ? fmt::format("evaluate {} --data FILE", folder)
                                                          : fmt::format("evaluate {}", folder);
  display.log("next: graphrun " + use);
}

// Throws UserError (kUsage, E0533) if some processes would never get a batch.
void require_batches(const LoadedJob& job, const Communicator& together) {
  const bool is_stream = job.data.format == Format::kStream;
  const std::int64_t batches = is_stream ? job.data.parts : std::max(1, job.message.train().accumulate());
  const int processes = together.size();
  if (batches >= processes) return;
  if (is_stream) {
    throw UserError(
        ExitCode::kUsage, "E0533 too-few-batches",
        fmt::format("{} processes share the parts of a stream's window; this job has {}", processes, batches),
        {fmt::format("help: --set data.batch.parts={} changes the job: dropout draws other numbers, and last bits differ",
                     processes)});
  }
  throw UserError(ExitCode::kUsage, "E0533 too-few-batches",
                  fmt::format("{} processes share the batches of an update; this job has {}", processes, batches),
                  {fmt::format("help: --set train.accumulate={} changes the job: its updates see {} times as much data",
                               processes, processes)});
}

// What must be equal in all processes. `data`: data_digests(network.job).
std::vector<Fact> facts_of(const Prepared& prepared, const std::string& data) {
  const Build& build = this_build();
  const Network& network = prepared.network;
  std::vector<Fact> facts = {{"another build", "graphrun", "is " + build.version, build.program_id + build.library_id},
                             {"a different job", fmt::format("'{}'", network.job.path), "", dump_job(network.job, false)}};
  for (const SourceFile& file : prepared.graphs.sources.files) {
    facts.push_back(
        {"different graphs", fmt::format("'{}'", file.path), fmt::format("has {} bytes", file.text.size()), sha256(file.text)});
  }
  const nlohmann::json digests = parse_json(data);
  for (const char* kind : {"files", "beginnings"}) {
    for (const auto& file : digests.at(kind)) {
      facts.push_back({"different data", fmt::format("'{}'", file.at("path").get<std::string>()),
                       fmt::format("has {} bytes", file.at("bytes").get<std::uint64_t>()), file.at("sha256")});
    }
  }
  for (const auto& [field, vocabulary] : network.vocabularies) {
    facts.push_back({"another vocabulary", fmt::format("that of '{}'", field), fmt::format("has {} entries", vocabulary.size()),
                     sha256(vocabulary.text())});
  }
  facts.push_back({"another device", "it", prepared.device.is_cpu() ? "is the CPU" : "is a GPU", ""});
  const std::string carrier = carrier_of(prepared.device);
  facts.push_back({"another NCCL", "it", "is " + (carrier.empty() ? "none" : carrier), ""});
  facts.push_back({"another GPU, so that last bits may differ", "it", "is " + prepared.device.name(), "", false});
  facts.push_back({"another processor, so that last bits may differ", "it", "has " + instruction_sets(), "", false});
  return facts;
}

// "8 on 2 machines, 16 threads each, Open MPI 4.1.4; 8 batches per update, 1 round"
std::string processes_text(const Communicator& together, const Prepared& prepared) {
  const Recipe& recipe = prepared.recipe;
  std::set<std::string> machines;
  for (int rank = 0; rank < together.size(); ++rank) machines.insert(together.machine(rank));
  const std::string carrier = carrier_of(prepared.device);
  const std::string gpus = prepared.device.is_cpu() ? "" : ", " + (carrier.empty() ? "gradients through the host" : carrier);
  const std::int64_t windows = recipe.parts > 1 ? recipe.accumulate / recipe.parts : 1;  // or one update's batches
  const std::int64_t rounds = windows * ((recipe.accumulate / windows + together.size() - 1) / together.size());
  return fmt::format("{} on {}, {} each, {}{}; {} per update, {}{}", together.size(),
                     counted(static_cast<std::int64_t>(machines.size()), "machine"), counted(threads(), "thread"),
                     together.library(), gpus, counted(recipe.accumulate, "batch", "es"), counted(rounds, "round"),
                     recipe.shards_optimizer && prepared.device.is_cpu() ? "; the optimizer is sharded" : "");
}

// `warnings`: those that were not shown yet.
ExitCode run(const TrainRequest& request, StopSignals& signals, ProgressDisplay& display, std::vector<Diagnostic>& warnings) {
  LoadedJob job = parse_job(request.text, request.job, request.settings);
  require_training(job);
  warnings = request.warnings;
  warnings.insert(warnings.end(), job.warnings.begin(), job.warnings.end());
  Communicator* const together = request.together;
  const bool writes = together == nullptr || together->rank() == 0;
  if (together != nullptr) {
    require_batches(job, *together);
    require_own_devices(*together, *request.device);
    carrier_of(*request.device);  // throws if it is missing
  }
  RunFolder folder(request.out, writes ? request.begin : RunFolder::Begin::kShared);
  const bool profiles = writes && !request.profile.empty();
  if (profiles) const AtomicFile probe(request.profile);  // checks that it can be written; an existing file stays
  const ModelLayout& layout = folder.layout();
  std::optional<std::string> checkpoint;
  if (writes) checkpoint = find_checkpoint(layout, warnings);
  if (together != nullptr) {  // the newest checkpoint may be damaged
    const std::string found = together->broadcast(checkpoint.value_or(""));
    if (!found.empty()) checkpoint = found;
  }
  // A run saves before its first step, so this is a finished model; training again would destroy it.
  if (writes && !checkpoint && is_there(layout.path("best"))) {
    throw UserError(
        ExitCode::kUsage, "E0523 nothing-to-resume",
        fmt::format("the model in '{}' has no checkpoint to continue from: it was averaged, or they were removed", request.out),
        {"help: start { model: \"…\" } in a job begins with its parameters, in another folder"});
  }
  std::optional<ReadExamples> training;
  Network opened = open_network(std::move(job), layout, checkpoint.has_value(), warnings, training);
  NetworkGraphs graphs = load_graphs(opened, warnings);
  Prepared prepared(std::move(opened), std::move(graphs), *request.device, warnings);
  const Network& network = prepared.network;
  const Recipe& recipe = prepared.recipe;
  Stepper& stepper = prepared.stepper;
  const BeginNotes notes = checkpoint ? BeginNotes() : begin_parameters(recipe, network, stepper, warnings);
  if (!warnings.empty()) display.warn(warnings);
  warnings.clear();

  TrainingData data(network, stepper.feeds(), read_sets(network, std::move(training)));
  std::string digests;
  if (together != nullptr || !checkpoint) digests = data_digests(network.job);
  if (together != nullptr) {
    if (const auto unlike = require_same(*together, facts_of(prepared, digests)); !unlike.empty()) display.warn(unlike);
  }
  std::optional<Watcher> watcher;
  if (!recipe.watch.match.empty()) {
    std::vector<Diagnostic> unused;
    watcher.emplace(stepper, recipe.watch.match, prepared.target(), unused);
    if (!unused.empty()) display.warn(unused);
  }
  Trainer trainer(folder, network, recipe, data, stepper, prepared.evaluator, display, signals, together);
  if (const auto warning = data.too_many_validations(recipe.validate)) display.warn({*warning});
  if (watcher) trainer.watch(&*watcher);
  if (request.tensorboard) trainer.write_events();
  if (checkpoint) trainer.restore(*checkpoint);
  if (trainer.finished()) {
    display.log(fmt::format("the run in '{}' is finished: {} ({}); the model is {}", layout.root, trainer.done_text(),
                            trainer.ended_by(), kept_text(network, recipe, trainer)));
    if (trainer.ended_by().starts_with("train.")) {
      display.log(
          fmt::format("help: it has done {} in {}; --resume with a later end, such as --set train.epochs=N, continues it",
                      counted(trainer.step(), "update"), counted(trainer.last_epoch(), "epoch")));
    } else {
      display.log("help: start { model: \"…\" } in a job begins another run with its parameters");
    }
    return ExitCode::kDone;
  }
  data.reserve_memory(stepper, prepared.evaluator);
  describe(display, prepared, data);
  if (together != nullptr) {
    display.log("processes: " + processes_text(*together, prepared));
    if (recipe.shards_optimizer && !prepared.device.is_cpu()) {
      display.log("note: train.shard_optimizer has no effect on GPUs: each process updates all parameters");
    }
    const DataSpec& spec = network.job.data;
    if (spec.tokens == 0 && spec.bucket_by.empty() && data.batches().lengths_differ()) {
      display.log(
          "note: processes wait for the largest batch of a round; with data.batch.bucket_by, all batches of an update have "
          "similar lengths");
    }
  }
  if (!checkpoint) {
    for (const std::string& line : stepper.beginnings()) display.log("initialize: " + line);
  }
  for (const std::string& line : stepper.rates()) display.log("learning rate " + line);
  for (const std::string& note : notes.log) display.log(note);
  for (const nlohmann::ordered_json& note : notes.metrics) trainer.note(note);
  folder.inside([&] {
    if (!checkpoint) {
      write_model(layout, network.job, prepared.graphs.sources, network.vocabularies, digests,
                  ir::print(prepared.graphs.training, {false}));
    }
    record_start(layout, request.command, trainer.step(), prepared.device.is_cpu(), together == nullptr ? 1 : together->size());
    display.keep_log(layout.log());
  });
  ExitCode ended = ExitCode::kDone;
  if (!profiles) {
    ended = trainer.run();
  } else {
    const ProfiledSteps profiled(request.profile, stepper, display);
    ended = trainer.run();
  }
  if (ended == ExitCode::kDone) tell_end(display, network, recipe, trainer, layout.root);
  if (ended == ExitCode::kDone && writes && request.print_results) write_output("-", results_table(trainer.results()));
  return ended;
}

}  // namespace

ExitCode train(const TrainRequest& request) {
  StopSignals signals;  // before any thread starts
  const bool speaks = request.together == nullptr || request.together->rank() == 0;
  ProgressDisplay display(speaks ? ProgressDisplay::for_stderr(request.quiet) : ProgressDisplay::silent());
  std::vector<Diagnostic> warnings;
  try {
    return run(request, signals, display, warnings);
  } catch (const UserError& error) {
    UserError all = with_warnings(error, warnings);
    try {
      display.record(render(all.diagnostics()));  // the caller shows it
    } catch (const UserError&) {                  // the log cannot be written, which may be the error itself
    }
    throw all;
  } catch (const PeerEnd& end) {
    display.record(end.what());
    throw;
  }
}

}  // namespace graphrun
