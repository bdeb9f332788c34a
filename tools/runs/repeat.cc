#include "tools/runs/repeat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "runtime/base/file.h"
#include "runtime/tensor/checkpoint.h"
#include "tools/cli/program.h"
#include "tools/json/json.h"
#include "tools/run/progress.h"
#include "tools/run/run_folder.h"
#include "tools/run/same_run.h"
#include "tools/run/signals.h"
#include "tools/run/start_record.h"
#include "tools/train/begin.h"
#include "tools/train/state.h"
#include "tools/train/trainer.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestRepeated = std::uint64_t{1} << 30;  // bytes of metrics

// A folder that is removed at the end.
class PassingFolder {
 public:
  PassingFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "graphrun-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) unwritable_file(name, "write", errno);
    path_ = name;
  }
  ~PassingFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The newest checkpoint of fewer updates than `step` whose parts are undamaged, and its number of updates.
std::optional<std::pair<std::string, std::int64_t>> checkpoint_before(const ModelLayout& layout, std::int64_t step) {
  std::vector<std::string> all = complete_checkpoints(layout.root, "checkpoints");
  std::reverse(all.begin(), all.end());
  for (const std::string& folder : all) {
    try {
      const CheckpointReader reader(folder);
      const TrainState state = parse_state(reader.text("state.json"), folder + "/state.json");
      if (state.step >= step) continue;
      reader.verify();
      return std::pair(folder, state.step);
    } catch (const UserError& error) {
      if (error.exit_code() != ExitCode::kBadData) throw;  // damaged: an older one will do
    }
  }
  return std::nullopt;
}

std::string metrics_of(const ModelLayout& layout) {
  return is_there(layout.metrics()) ? read_file(layout.metrics(), kLargestRepeated) : "";
}

Network network_of_run(const ModelLayout& layout, const RepeatRequest& request, std::vector<Diagnostic>& warnings) {
  if (!holds_run(layout.root))
    throw UserError(ExitCode::kUsage, "E0521 no-run", fmt::format("'{}' contains no run", layout.root),
                    {"help: graphrun train JOB --out DIR makes one"});
  Network network = read_network(layout);
  check_same_data(layout, warnings);
  if (const std::int64_t done = recorded_updates(metrics_of(layout)); request.step > done) {
    throw UserError(
        ExitCode::kUsage, "E0527 fewer-updates",
        fmt::format("the run in '{}' records {}; there is no update {}", layout.root, counted(done, "update"), request.step));
  }
  // Where a run ends changes no bit before.
  Job::Train& train = *network.job.message.mutable_train();
  train.set_updates(static_cast<std::int32_t>(request.step));
  train.clear_epochs();
  train.clear_hours();
  train.clear_checkpoint();
  return network;
}

// With train.sum: BY_PROCESS, last bits depend on the number of processes, unless each of them has one batch of an update.
void require_sums_in_order(const ModelLayout& layout, const Recipe& recipe, std::int64_t from, std::int64_t step) {
  if (!recipe.sums_by_process) return;
  for (const MadeUpdates& made : made_updates(layout.root)) {
    const std::int64_t first = std::max(made.first, from + 1), last = std::min(made.last, step);
    if (first > last || made.processes == 1 || made.processes >= recipe.accumulate) continue;
    const std::string updates = first == last ? fmt::format("update {}", first) : fmt::format("updates {} to {}", first, last);
    throw UserError(
        ExitCode::kUsage, "E0528 sums-by-process",
        fmt::format("{} processes made {} of the run in '{}', and each first added the gradients of its own batches "
                    "(train.sum: BY_PROCESS)",
                    made.processes, updates, layout.root),
        {"note: one process would add the same gradients in another order, with other last bits",
         "help: runs with train.sum: IN_ORDER can be repeated, whatever the number of their processes"});
  }
}

}  // namespace

std::int64_t recorded_updates(const std::string& metrics) {
  std::int64_t most = 0;
  std::istringstream lines(metrics);
  for (std::string text; std::getline(lines, text);) {
    const auto line = parse_json_or_discard(text);
    if (line.is_object() && line.contains("step") && line["step"].is_number_integer())
      most = std::max(most, line["step"].get<std::int64_t>());
  }
  return most;
}

ExitCode repeat_run(const RepeatRequest& request, const RepeatVisits& visits) {
  StopSignals signals;  // before any thread starts
  const ModelLayout layout{request.folder};
  std::vector<Diagnostic> warnings;
  Network network = network_of_run(layout, request, warnings);
  std::optional<std::pair<std::string, std::int64_t>> checkpoint;
  if (request.from_checkpoint) checkpoint = checkpoint_before(layout, request.step);
  NetworkGraphs graphs = load_graphs(network, warnings);
  Prepared prepared(std::move(network), std::move(graphs), *request.device, warnings);
  const Recipe& recipe = prepared.recipe;
  require_sums_in_order(layout, recipe, checkpoint ? checkpoint->second : 0, request.step);
  Stepper& stepper = prepared.stepper;
  const BeginNotes notes = checkpoint ? BeginNotes() : begin_parameters(recipe, prepared.network, stepper, warnings);
  TrainingData data(prepared.network, stepper.feeds(), read_sets(prepared.network, std::nullopt));
  std::optional<Watcher> watcher;
  std::vector<Diagnostic> unused;
  if (!recipe.watch.match.empty()) watcher.emplace(stepper, recipe.watch.match, prepared.target(), unused);

  const PassingFolder temporary;
  RunFolder folder(temporary.path(), RunFolder::Begin::kMade);
  write_file(folder.layout().manifest(), read_file(layout.manifest(), kLargestRepeated));
  if (checkpoint) write_file(folder.layout().metrics(), metrics_of(layout));
  ProgressDisplay display(ProgressDisplay::silent());
  Trainer trainer(folder, prepared.network, recipe, data, stepper, prepared.evaluator, display, signals);
  if (watcher) trainer.watch(&*watcher);
  for (const nlohmann::ordered_json& note : notes.metrics) trainer.note(note);
  if (checkpoint) trainer.restore(checkpoint->first);
  Repeated repeated;
  repeated.from = checkpoint ? checkpoint->second : 0;
  trainer.repeat([&](const Batch& batch, double rate) {
    repeated.rate = rate;
    repeated.at = batch.position;
    if (visits.before) visits.before(prepared, data, batch);
  });
  if (const ExitCode code = trainer.run(); code != ExitCode::kDone) return code;
  repeated.result = trainer.last_result();
  repeated.metrics = metrics_of(folder.layout());
  repeated.prepared = &prepared;
  repeated.data = &data;
  if (visits.after) visits.after(repeated);
  return ExitCode::kDone;
}

}  // namespace graphrun
