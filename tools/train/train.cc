#include "tools/train/train.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "compiler/ir/printer.h"
#include "runtime/checkpoint.h"
#include "runtime/cuda_library.h"
#include "runtime/file.h"
#include "runtime/processor.h"
#include "runtime/profiler.h"
#include "runtime/threads.h"
#include "tools/cli/program.h"
#include "tools/job/data_files.h"
#include "tools/job/defaults.h"
#include "tools/model/evaluator.h"
#include "tools/model/model_folder.h"
#include "tools/model/network_check.h"
#include "tools/train/begin.h"
#include "tools/train/progress.h"
#include "tools/train/recipe.h"
#include "tools/train/run_folder.h"
#include "tools/train/same_run.h"
#include "tools/train/signals.h"
#include "tools/train/speed.h"
#include "tools/train/start_record.h"
#include "tools/train/stepper.h"
#include "tools/train/trainer.h"

namespace graphrun {
namespace {

// The network of a new run, or of the one that `layout` holds.
Network open_network(LoadedJob job, const ModelLayout& layout, bool begun, std::vector<Diagnostic>& warnings) {
  if (!begun) {
    std::vector<Diagnostic> unreadable = unreadable_files(job);
    if (!unreadable.empty()) throw UserError(ExitCode::kBadData, std::move(unreadable));
    fill_defaults(job.message);  // the folder keeps what --dump-job prints
    return build_network(std::move(job));
  }
  Network network = read_network(layout);
  check_same_job(job, network.job, layout.root);
  check_same_data(layout, warnings);
  const std::int32_t epochs = job.message.train().epochs();
  check_same_graphs(std::move(job), network, layout);
  network.job.message.mutable_train()->set_epochs(epochs);
  return network;
}

// Where the run goes on; nothing where it ended before its first checkpoint and begins again. One that is damaged is passed
// over, which is told.
std::optional<std::string> find_checkpoint(const ModelLayout& layout, std::vector<Diagnostic>& warnings) {
  NewestCheckpoint newest = newest_sound(layout.root);
  if (!newest.folder && !newest.damaged.empty()) {
    for (std::string& what : newest.damaged) what.insert(0, "note: ");
    newest.damaged.push_back("help: begin a run in another folder, or put a sound checkpoint back");
    throw UserError(ExitCode::kBadData, "E0685 bad-checkpoint",
                    fmt::format("every checkpoint of the run in '{}' is damaged: there is none to go on from", layout.root),
                    std::move(newest.damaged));
  }
  for (const std::string& what : newest.damaged) {
    warnings.push_back(
        {Severity::kWarning, "E0685 bad-checkpoint", {}, what, {fmt::format("note: going on from '{}'", *newest.folder)}});
  }
  return newest.folder;
}

// Where training runs, and how exactly.
std::string name_of_device(Device device, const Job& job) {
  const std::string precision = Job::ProductPrecision_Name(job.product_precision());
  std::string name, why_not;
  if (device == Device::kCpu) {
    name = fmt::format("cpu, {} thread{}", threads(), threads() == 1 ? "" : "s");
    if (job.product_precision() == Job::TF32) why_not = "TF32 is for GPUs";
    if (job.product_precision() == Job::BFLOAT16 && !multiplies_bfloat16()) why_not = "it has no instructions for BFLOAT16";
  } else {
    name = "cuda, " + cuda_device().name();
    if (!cuda_device().limits().matrix_units) why_not = "it has no matrix units for " + precision;
  }
  if (job.product_precision() == Job::FLOAT32) return name;
  return name + (why_not.empty() ? ", products in " + precision : ", products in float32, since " + why_not);
}

void describe(ProgressDisplay& display, const Network& network, const Stepper& stepper, const Trainer& trainer,
              const Recipe& recipe, Device device, double compile_seconds) {
  std::string vocabularies;
  for (const auto& [field, vocabulary] : network.vocabularies) {
    vocabularies += fmt::format("{}{} {}", vocabularies.empty() ? "" : ", ", field, vocabulary.size());
  }
  display.log(fmt::format("graphrun {}: {}, graph {}", version(), network.job.path, network.job.message.graph()));
  display.log("data: " + trainer.data_summary());
  if (!vocabularies.empty()) display.log("vocabularies: " + vocabularies);
  display.log(fmt::format("parameters: {} numbers, seed {}", stepper.parameter_count(), recipe.seed));
  display.log(fmt::format("device: {}; compiled in {:.2f} s", name_of_device(device, network.job.message), compile_seconds));
}

// Profiles steps as long as it lives, and then writes what it has, however the training ended.
class ProfiledSteps {
 public:
  ProfiledSteps(const std::string& file, Stepper& stepper, ProgressDisplay& display)
      : file_(file), stepper_(stepper), display_(display) {
    stepper_.profile(&profiler_);
  }
  ~ProfiledSteps() {
    stepper_.profile(nullptr);
    display_.log("where the time of the training steps went; a loop's share holds those of the nodes in it:");
    display_.log(profiler_.table());
    try {
      profiler_.write_chrome_trace(file_);
    } catch (const UserError& error) {
      display_.warn(render(error.diagnostics(), color_on_stderr()));
      return;
    }
    std::string text = fmt::format("the trace is in '{}'", file_);
    if (profiler_.dropped() > 0)
      text += fmt::format(": the first {} events; the table counts {} more", Profiler::kMostEvents, profiler_.dropped());
    display_.log(text);
  }

 private:
  const std::string file_;
  Stepper& stepper_;
  ProgressDisplay& display_;
  Profiler profiler_;
};

// `warnings`: what is not shown yet.
ExitCode run(const TrainRequest& request, StopSignals& signals, ProgressDisplay& display, std::vector<Diagnostic>& warnings) {
  LoadedJob job = parse_job(request.text, request.job, request.settings);
  require_training(job);
  warnings = std::move(job.warnings);
  RunFolder folder(request.out, request.resume ? RunFolder::Begin::kResume : RunFolder::Begin::kNew);
  if (!request.profile.empty()) const AtomicFile probe(request.profile);  // can it be written? One that is there stays
  const ModelLayout& layout = folder.layout();
  const std::optional<std::string> checkpoint = find_checkpoint(layout, warnings);
  // A run saves before its first step, so this is none: training anew would cost the model that is there.
  if (!checkpoint && is_there(layout.path("best"))) {
    throw UserError(
        ExitCode::kUsage, "E0523 nothing-to-resume",
        fmt::format("the model in '{}' has no checkpoint to go on from: it was averaged, or they were removed", request.out),
        {"help: start { model: \"…\" } in a job begins with its parameters, in another folder"});
  }
  const Network network = open_network(std::move(job), layout, checkpoint.has_value(), warnings);

  const Recipe recipe = make_recipe(network.job);
  const double begun = seconds_now();
  GraphSources sources;
  std::vector<Diagnostic> of_graph;
  const ir::Graph graph = network.graph(true, &of_graph, &sources);
  warnings.insert(warnings.end(), of_graph.begin(), of_graph.end());
  const ir::Graph inference = network.graph(false);
  check_network(graph, inference, network, warnings);
  Stepper stepper(graph, recipe, *network.job.plan, Target(request.device, WeightForm::kFloat32, network.job.products),
                  warnings);
  Evaluator evaluator(inference, network, request.device);
  const double compile_seconds = seconds_now() - begun;
  const BeginNotes notes = checkpoint ? BeginNotes() : begin_parameters(recipe, network, stepper, warnings);
  if (!warnings.empty()) display.warn(render(warnings, color_on_stderr()));
  warnings.clear();

  Trainer trainer(folder, network, recipe, stepper, evaluator, display, signals);
  if (const auto warning = trainer.too_many_validations()) display.warn(render(*warning, color_on_stderr()));
  if (request.tensorboard) trainer.write_events();
  if (checkpoint) trainer.restore(*checkpoint);
  if (trainer.finished()) {
    display.log(fmt::format("the run in '{}' is finished: {} epoch{} done; the model is that of epoch {}", layout.root,
                            trainer.epochs_done(), trainer.epochs_done() == 1 ? "" : "s", trainer.best_epoch()));
    return ExitCode::kDone;
  }
  trainer.reserve_memory();
  describe(display, network, stepper, trainer, recipe, request.device, compile_seconds);
  if (!checkpoint)
    for (const std::string& line : stepper.beginnings()) display.log("initialize: " + line);
  for (const std::string& line : stepper.rates()) display.log("learning rate " + line);
  for (const std::string& note : notes.log) display.log(note);
  for (const nlohmann::ordered_json& note : notes.metrics) trainer.note(note);
  folder.inside([&] {
    if (!checkpoint) {
      write_model(layout, dump_job(network.job, true), sources, network.vocabularies, data_digests(network.job),
                  ir::print(graph, {false}));
    }
    record_start(layout, request.command, trainer.step());
  });
  ExitCode ended = ExitCode::kDone;
  if (request.profile.empty()) {
    ended = trainer.run();
  } else {
    const ProfiledSteps profiled(request.profile, stepper, display);
    ended = trainer.run();
  }
  if (ended == ExitCode::kDone && request.print_results) write_output("-", results_table(trainer.results()));
  return ended;
}

}  // namespace

ExitCode train(const TrainRequest& request) {
  StopSignals signals;  // before anything starts a thread
  ProgressDisplay display(ProgressDisplay::for_stderr(request.quiet));
  std::vector<Diagnostic> warnings;
  try {
    return run(request, signals, display, warnings);
  } catch (const UserError& error) {
    std::vector<Diagnostic> all = error.diagnostics();
    all.insert(all.end(), warnings.begin(), warnings.end());
    throw UserError(error.exit_code(), std::move(all));
  }
}

}  // namespace graphrun
