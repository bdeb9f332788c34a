// The loop of a training run: epochs of steps, validation, checkpoints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/model/evaluator.h"
#include "tools/model/model_folder.h"
#include "tools/run/metrics_log.h"
#include "tools/run/progress.h"
#include "tools/run/run_folder.h"
#include "tools/run/signals.h"
#include "tools/run/speed.h"
#include "tools/run/speed_log.h"
#include "tools/train/best_models.h"
#include "tools/train/not_finite.h"
#include "tools/train/run_end.h"
#include "tools/train/schedule.h"
#include "tools/train/shared_batches.h"
#include "tools/train/state.h"
#include "tools/train/stepper.h"
#include "tools/train/training_data.h"
#include "tools/train/watcher.h"

namespace graphrun {

class Trainer {
 public:
  // All arguments must outlive it. `stepper` and `evaluator`: the network compiled for training and for its reports.
  // `together`: the processes that share the batches of each update; null if this process is alone. Only process 0 writes the
  // folder.
  Trainer(RunFolder& folder, const Network& network, const Recipe& recipe, TrainingData& data, Stepper& stepper,
          Evaluator& evaluator, ProgressDisplay& display, StopSignals& signals, Communicator* together = nullptr);

  // Resumes at a checkpoint. Throws UserError (kBadData) if it is not a checkpoint of this network, or belongs to another
  // folder (E0667).
  void restore(const std::string& checkpoint);
  // Whether the run is complete.
  bool finished() const { return state_.finished && is_over(); }
  // "3 epochs done", "986 updates done, the last in epoch 3".
  std::string done_text() const;
  // What ended a finished run: the setting "train.epochs", or "no improvement".
  std::string ended_by() const { return state_.ended ? "no improvement" : end_.reached_by(place()); }
  // The epoch of the last update.
  std::int64_t last_epoch() const { return epoch(); }
  std::int64_t best_epoch() const { return state_.best_epoch; }
  // Whether the model of a finished run is the mean that the recipe asks for: there is none without candidates.
  bool averaged() const { return recipe_.average.number > 0 && state_.averaged; }
  // The reports of the kept model, by set, after the run.
  const std::vector<std::pair<std::string, ReportResults>>& results() const { return results_; }
  std::int64_t step() const { return state_.step; }

  // Also writes metrics to TensorBoard event files in the model's folder.
  void write_events() { events_ = true; }
  // Records what it watches, as the recipe says. It must outlive the trainer.
  void watch(Watcher* watcher);
  // Ends run() right after the last update, without what a run does at its end. `last` is called with the batch that completes
  // that update, and its learning rate, before the update.
  void repeat(std::function<void(const Batch&, double)> last) { last_batch_ = std::move(last); }
  // That of the last update.
  const StepResult& last_result() const { return last_result_; }
  // Adds a line to the metrics of a new run.
  void note(const nlohmann::ordered_json& line) { notes_.push_back(line); }
  // Returns kDone, or 128 + N after a checkpoint if signal N arrived, at any process. Throws UserError (kDiverged, E0670; with
  // several processes also kRunFailed, E0535, if their parameters differ), and PeerEnd.
  ExitCode run();

 private:
  // Each of these returns whether the run continues: false after a signal.
  bool run_epoch();
  bool run_batches();
  bool end_epoch();
  bool end_within_epoch();
  bool validate_within_epoch();
  bool finish();
  // Whether the run has ended, by the job's settings or by a rule.
  bool is_over() const { return state_.ended || end_.reached(place()); }
  RunPlace place() const { return {state_.next, state_.step}; }
  void look_at_clock();
  // The value of process 0, whose clock and folder all processes use.
  bool agreed(bool own);
  void begin_batches();
  // The next batch of the epoch. If processes share the batches, it has no feeds, and its loss is in `figures_`.
  std::optional<Batch> next_batch();
  void check_parameters();
  std::int64_t epoch() const;
  // The mean loss of this epoch's updates so far.
  double loss() const { return state_.loss_sum / static_cast<double>(std::max<std::int64_t>(state_.loss_steps, 1)); }
  bool save_is_due(std::int64_t step_before);
  bool due_by_steps() const;
  bool validation_is_due() const;
  bool validates_within_epoch(std::int64_t done) const;
  void one_batch(const Batch& batch);
  // Whether the watcher records the current update, provided that it has all of its batches.
  bool watches_update() const { return watcher_ != nullptr && (state_.step + 1) % recipe_.watch.every_steps == 0; }
  // An update in progress: on a device, the next one may begin before its loss is read.
  struct Begun {
    StepOutcome outcome;
    std::int64_t step = 0;  // its number, from 0
    double rate = 0;
    BatchPosition last;  // the batch that completed it
  };
  void begin(StepOutcome outcome, double rate, const BatchPosition& last);
  // Reads the outcomes of updates, oldest first, until only `left` are in progress.
  void settle(std::size_t left);
  [[noreturn]] void diverged(const StepResult& result, const Begun& update);
  void show(const Batch& batch);
  // Whether these parameters are the best so far, or, if the job names no report, simply the last. If so, they become the
  // model.
  bool keep(const std::optional<ReportResults>& results);
  std::string reports_text(const std::optional<ReportResults>& results) const;
  // Applies a validation to the schedule and the end of the run. Returns whether training goes back to the best parameters.
  bool judge(const ReportResults& results);
  bool average(std::vector<nlohmann::ordered_json>& lines);
  ShardedUpdate* sharded() { return batches_ ? batches_->sharded() : nullptr; }
  std::map<std::string, NamedTensors> groups();
  NamedTensors model_parameters();
  void go_back();
  std::optional<ReportResults> evaluate(const Dataset& set, const NamedTensors& parameters);
  std::optional<ReportResults> agreed_results(const std::optional<ReportResults>& own);
  NamedTensors shared(const NamedTensors& own);
  void write(const nlohmann::ordered_json& line);
  void note_speed(std::int64_t epoch, std::int64_t step, const std::string& set = "", const Work& evaluation = {});
  double rate() const { return rate_.rate(state_.step + 1); }
  // Throws UserError (kNoRoom, E0525) after saving if the folder was moved.
  void save();
  // The signal that ends the run; 0 if there is none.
  int signal() const { return together_ == nullptr ? signals_.pending() : std::max(agreed_signal_, batches_->signal()); }
  // Several processes stop only after an update.
  bool stopped() const { return signal() != 0 && (together_ == nullptr || stepper_.pending().batches == 0); }

  RunFolder& folder_;
  const ModelLayout& layout_;  // the folder's layout
  const Network& network_;
  const Recipe& recipe_;
  Stepper& stepper_;
  Evaluator& evaluator_;
  ProgressDisplay& display_;
  StopSignals& signals_;
  const Dataset *const valid_set_, *const test_set_;  // null if there is none
  BatchSource& source_;
  Communicator* const together_;  // null if this process is alone
  std::optional<SharedBatches> batches_;
  BatchFigures figures_;  // those of the last batch of next_batch()
  int agreed_signal_ = 0;
  std::optional<MetricsLog> metrics_;
  std::optional<SpeedLog> speed_log_;
  bool events_ = false;
  Watcher* watcher_ = nullptr;
  BestModels best_models_;
  TrainState state_;
  std::vector<std::pair<std::string, ReportResults>> results_;
  StepsSince steps_since_;  // since the last checkpoint
  std::deque<Begun> under_way_;
  LearningRate rate_;
  std::map<std::string, NamedTensors> best_;  // all trained values at the best model, if the schedule goes back to it
  std::vector<nlohmann::ordered_json> notes_;
  WorkMeter meter_, of_epoch_;  // since the last line of speed.jsonl; since the beginning of the epoch, with validations
  RunEnd end_;
  double saved_ = 0;  // the time of the last save
  StepResult last_result_;
  std::function<void(const Batch&, double)> last_batch_;  // null: a run, not its repetition
};

}  // namespace graphrun
