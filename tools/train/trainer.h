// The loop of a training run: epochs of steps, validation, checkpoints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
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
#include "tools/run/speed.h"
#include "tools/run/speed_log.h"
#include "tools/train/best_models.h"
#include "tools/train/not_finite.h"
#include "tools/train/run_end.h"
#include "tools/train/schedule.h"
#include "tools/train/shared_batches.h"
#include "tools/train/signals.h"
#include "tools/train/state.h"
#include "tools/train/stepper.h"
#include "tools/train/training_data.h"

namespace graphrun {

class Trainer {
 public:
  // Everything outlives it. `stepper` and `evaluator`: the network compiled for training and for its reports. `together`: the
  // processes that share the batches of each update; null: this one is alone. The folder is that of process 0.
  Trainer(RunFolder& folder, const Network& network, const Recipe& recipe, TrainingData& data, Stepper& stepper,
          Evaluator& evaluator, ProgressDisplay& display, StopSignals& signals, Communicator* together = nullptr);

  // Resumes at a checkpoint. Throws UserError (kBadData) where it is no checkpoint of this network or of another
  // folder (E0667).
  void restore(const std::string& checkpoint);
  // Whether there is nothing left to do.
  bool finished() const { return state_.finished && is_over(); }
  // "3 epochs done", "986 updates done, the last in epoch 3".
  std::string done_text() const;
  // What ended the run, once it is done: the setting "train.epochs", or "no improvement".
  std::string ended_by() const { return state_.ended ? "no improvement" : end_.reached_by(place()); }
  // The epoch of the last update.
  std::int64_t last_epoch() const { return epoch(); }
  std::int64_t best_epoch() const { return state_.best_epoch; }
  // Of the model that is kept, by set, once the run is done.
  const std::vector<std::pair<std::string, ReportResults>>& results() const { return results_; }
  std::int64_t step() const { return state_.step; }

  // Metrics go to TensorBoard's event files in the model's folder too.
  void write_events() { events_ = true; }
  // Lines for the metrics of a run that begins.
  void note(const nlohmann::ordered_json& line) { notes_.push_back(line); }
  // Returns kDone, or 128 + N after a checkpoint where signal N came, to any process. Throws UserError (kDiverged, E0670; of
  // several processes: kRunFailed, E0535, where their parameters differ), and PeerEnd.
  ExitCode run();

 private:
  // Each returns whether the run continues: false after a signal.
  bool run_epoch();
  bool run_batches();
  bool end_epoch();
  bool end_within_epoch();
  bool validate_within_epoch();
  bool finish();
  // Whether the run has come to its end, the job's or a rule's.
  bool is_over() const { return state_.ended || end_.reached(place()); }
  RunPlace place() const { return {state_.next, state_.step}; }
  void look_at_clock();
  // What process 0 says, where only its clock or folder counts.
  bool agreed(bool own);
  void begin_batches();
  // The next batch of the epoch; where processes share them, without feeds, and with what it came to in `figures_`.
  std::optional<Batch> next_batch();
  void check_parameters();
  std::int64_t epoch() const;
  // The mean over this epoch's updates so far.
  double loss() const { return state_.loss_sum / static_cast<double>(std::max<std::int64_t>(state_.loss_steps, 1)); }
  bool save_is_due(std::int64_t step_before);
  bool due_by_steps() const;
  bool validation_is_due() const;
  bool validates_within_epoch(std::int64_t done) const;
  void one_batch(const Batch& batch);
  // An update that was begun: on a device the next one may begin before this one's loss is read.
  struct Begun {
    StepOutcome outcome;
    std::int64_t step = 0;  // its number, from 0
    double rate = 0;
    BatchPosition last;  // the batch that completed it
  };
  void begin(StepOutcome outcome, double rate, const BatchPosition& last);
  // Reads what came of updates, the oldest first, until only so many are left under way.
  void settle(std::size_t left);
  [[noreturn]] void diverged(const StepResult& result, const Begun& update);
  void show(const Batch& batch);
  // Whether these parameters are the best so far, or, where the job names no report, simply the last; then the model has them.
  bool keep(const std::optional<ReportResults>& results);
  std::string reports_text(const std::optional<ReportResults>& results) const;
  // What a validation means for schedule and end; whether training goes back to the best parameters.
  bool judge(const ReportResults& results);
  bool average();
  std::optional<ReportResults> evaluate(const Dataset& set, const NamedTensors& parameters);
  std::optional<ReportResults> evaluate_here(const Dataset& set, const NamedTensors& parameters);
  void write(const nlohmann::ordered_json& line);
  void note_speed(std::int64_t epoch, std::int64_t step, const std::string& set = "", const Work& evaluation = {});
  double rate() const { return rate_.rate(state_.step + 1); }
  // Throws UserError (kNoRoom, E0525) after the save where the folder was moved.
  void save();
  // The signal that ends the run; 0: none.
  int signal() const { return together_ == nullptr ? signals_.pending() : std::max(agreed_signal_, batches_->signal()); }
  // Several processes end behind an update.
  bool stopped() const { return signal() != 0 && (together_ == nullptr || stepper_.pending().batches == 0); }

  RunFolder& folder_;
  const ModelLayout& layout_;  // the folder's
  const Network& network_;
  const Recipe& recipe_;
  Stepper& stepper_;
  Evaluator& evaluator_;
  ProgressDisplay& display_;
  StopSignals& signals_;
  const Dataset *const valid_set_, *const test_set_;  // null: none
  BatchSource& source_;
  Communicator* const together_;  // null: this process is alone
  std::optional<SharedBatches> batches_;
  BatchFigures figures_;  // of the last batch of next_batch()
  int agreed_signal_ = 0;
  std::optional<MetricsLog> metrics_;
  std::optional<SpeedLog> speed_log_;
  bool events_ = false;
  BestModels best_models_;
  TrainState state_;
  std::vector<std::pair<std::string, ReportResults>> results_;
  StepsSince steps_since_;  // the last checkpoint
  std::deque<Begun> under_way_;
  LearningRate rate_;
  std::map<std::string, NamedTensors>
      best_;  // all that training changed, at the best model: where the schedule goes back to it
  std::vector<nlohmann::ordered_json> notes_;
  WorkMeter meter_, of_epoch_;  // since the last line of speed.jsonl; since the epoch began, validations included
  RunEnd end_;
  double saved_ = 0;  // when
};

}  // namespace graphrun
