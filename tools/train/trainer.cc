#include "tools/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/file.h"
#include "runtime/base/processor.h"
#include "runtime/tensor/checkpoint.h"
#include "tools/json/json.h"
#include "tools/processes/message.h"
#include "tools/train/run_length.h"

namespace graphrun {
namespace {

const std::string kBestPrefix = "best_";  // prefix of a checkpoint's groups that belong to the best model
const std::string kSlots = "slots";       // the group of optimizer's slots

}  // namespace

Trainer::Trainer(RunFolder& folder, const Network& network, const Recipe& recipe, TrainingData& data, Stepper& stepper,
                 Evaluator& evaluator, ProgressDisplay& display, StopSignals& signals, Communicator* together)
    : folder_(folder),
      layout_(folder.layout()),
      network_(network),
      recipe_(recipe),
      stepper_(stepper),
      evaluator_(evaluator),
      display_(display),
      signals_(signals),
      valid_set_(data.valid()),
      test_set_(data.test()),
      source_(data.batches()),
      together_(together),
      best_models_(layout_, recipe),
      rate_(recipe.schedule, recipe.learning_rate),
      end_(recipe.end) {
  state_.seed = recipe.seed;
  if (together_ == nullptr) return;
  batches_.emplace(*together_, source_, stepper_, recipe, [this](std::int64_t done) { return validates_within_epoch(done); });
}

void Trainer::restore(const std::string& folder) {
  const CheckpointReader checkpoint(folder);
  state_ = parse_state(checkpoint.text("state.json"), folder + "/state.json");
  if (const std::string& model = state_.model; !model.empty() && model != digest_file(layout_.manifest()).sha256) {
    throw UserError(ExitCode::kBadData, "E0667 other-model",
                    fmt::format("'{}' belongs to a different run than this folder", folder),
                    {fmt::format("note: it was made with another job, other graphs, vocabularies or data than '{}' lists",
                                 layout_.manifest()),
                     "help: continue it in the folder it was made in"});
  }
  stepper_.restore(checkpoint, state_.pending);
  rate_.restore(state_.schedule);
  best_ = stepper_.groups_of(checkpoint, kBestPrefix);
  if (batches_) batches_->take_variables();
  if (const auto slots = best_.find(kSlots); slots != best_.end() && sharded() != nullptr) {
    slots->second = sharded()->cut(slots->second);
  }
  steps_since_ = {folder, {}};
  end_.restore(state_.seconds ? *state_.seconds : seconds_before(layout_.speed(), state_.step));
  state_.finished = finished();                     // the end may have been moved
  if (together_ != nullptr) together_->gather("");  // waits until all processes have read it
  if (!folder_.is_ours()) return;
  // A finished run saves no more, which would remove what a kill left.
  prune_checkpoints(layout_.root, std::numeric_limits<int>::max());
  best_models_.drop_leftovers(state_.step);
}

bool Trainer::agreed(bool own) {
  if (together_ == nullptr) return own;
  return together_->broadcast(own ? "1" : "") == "1";
}

void Trainer::watch(Watcher* watcher) {
  watcher_ = watcher;
  if (!batches_) return;
  batches_->before_updates([this](const Batch* last, int owner, std::int64_t number) {
    if (!watches_update()) return;
    const WorkMeter::Pause pause(meter_);
    watcher_->before(*together_, owner, stepper_, last, state_.step, number);
  });
}

void Trainer::write(const nlohmann::ordered_json& line) {
  if (metrics_) metrics_->write(line);
}

ExitCode Trainer::run() {
  folder_.inside([&] {
    metrics_.emplace(layout_.metrics(), state_.metrics_bytes);
    if (events_) metrics_->mirror(layout_.events());
    speed_log_.emplace(layout_.speed());
    state_.model = digest_file(layout_.manifest()).sha256;
  });
  saved_ = seconds_now();
  end_.start();
  meter_.restart();
  for (const nlohmann::ordered_json& line : notes_) write(line);
  if (steps_since_.checkpoint.empty()) save();
  if (state_.step > 0) display_.log(fmt::format("continuing from step {}, epoch {}", state_.step, state_.next.epoch));
  bool going = true;
  // A complete epoch still gets its end, even if the run is over: a signal may have arrived in between.
  while (going && !state_.ended && !(is_over() && state_.next.batch == 0)) {
    going = run_epoch();
    if (!going || state_.ended || (last_batch_ && is_over()) || state_.next.batch < source_.batches()) break;
    going = end_epoch();
  }
  if (going && last_batch_) return ExitCode::kDone;
  if (going && end_within_epoch() && finish()) return ExitCode::kDone;
  const int came = signal();
  save();
  display_.log(fmt::format("stopped by signal {} at step {}; --resume continues from there", came, state_.step));
  return static_cast<ExitCode>(128 + came);
}

// A run ends after an update.
void Trainer::look_at_clock() {
  if (recipe_.end.hours <= 0 || stepper_.pending().batches != 0) return;
  if (agreed(end_.look_at_clock())) {
    end_.end_hours();
    display_.log(fmt::format("step {}: train.hours are over", state_.step));
  }
}

// The epoch of the last batch.
std::int64_t Trainer::epoch() const {
  return state_.next.batch == 0 ? std::max<std::int64_t>(1, state_.next.epoch - 1) : state_.next.epoch;
}

std::string Trainer::done_text() const {
  if (state_.next.batch > 0) return fmt::format("{} done, the last in epoch {}", counted(state_.step, "update"), epoch());
  return counted(state_.next.epoch - 1, "epoch") + " done";
}

bool Trainer::save_is_due(std::int64_t step_before) {
  const CheckpointRule& rule = recipe_.checkpoint;
  if (rule.every_steps > 0 && state_.step > step_before && state_.step % rule.every_steps == 0) return true;
  if (rule.every_minutes <= 0 || (together_ != nullptr && stepper_.pending().batches != 0)) return false;
  return agreed(seconds_now() - saved_ >= rule.every_minutes * 60);
}

void Trainer::begin_batches() {
  if (batches_) {
    batches_->begin(state_.next);
  } else {
    source_.begin(state_.next);
  }
}

std::optional<Batch> Trainer::next_batch() {
  if (!batches_) return source_.next();
  std::optional<SharedBatches::Counted> counted = batches_->next(state_.step, signals_.pending());
  if (!counted) return std::nullopt;
  figures_ = counted->figures;
  return std::move(counted->batch);
}

bool Trainer::run_epoch() {
  if (!state_.epoch_begun) rate_.begin_epoch(state_.next.epoch);
  state_.epoch_begun = true;
  begin_batches();
  of_epoch_.restart();
  const bool going = run_batches();
  settle(0);
  return going;
}

bool Trainer::run_batches() {
  // If a signal ended the run during a validation, it is repeated now.
  if (validation_is_due() && !validate_within_epoch()) return false;
  std::optional<Batch> batch;
  while (!is_over() && (batch = next_batch())) {
    const std::int64_t step = state_.step;
    one_batch(*batch);
    look_at_clock();
    if (last_batch_ && is_over()) return true;
    if (validation_is_due() && !validate_within_epoch()) return false;
    if (stopped()) return false;
    if (save_is_due(step)) save();
  }
  if (state_.ended || state_.next.batch < source_.batches()) return true;
  const double used = rate();
  const std::optional<StepResult> rest = stepper_.finish(state_.step, used);
  if (rest) begin([result = *rest] { return result; }, used, {state_.next.epoch, state_.next.batch - 1});
  return true;
}

void Trainer::one_batch(const Batch& batch) {
  const double used = rate();
  steps_since_.rates.push_back(used);
  const bool watched = watches_update() && stepper_.completes_update();
  if (last_batch_ && state_.step + 1 == recipe_.end.updates && (stepper_.completes_update() || batch.last)) {
    settle(0);
    stepper_.enter(batch);
    last_batch_(batch, used);
  }
  if (watched && !batches_) {
    const WorkMeter::Pause pause(meter_);
    settle(0);
    stepper_.enter(batch);
    watcher_->before(stepper_, batch, state_.step, stepper_.pending().batches);
  }
  std::optional<StepOutcome> outcome =
      batches_ ? stepper_.count(figures_, state_.step, used) : stepper_.add(batch, state_.step, used);
  state_.next = {batch.position.epoch, batch.position.batch + 1};
  meter_.add(batch);
  of_epoch_.add(batch);
  if (outcome) {
    begin(std::move(*outcome), used, batch.position);
    settle(stepper_.runs_ahead() && !watched ? 1 : 0);
  }
  if (watched) {
    const WorkMeter::Pause pause(meter_);
    if (batches_) batches_->bring_sums();
    if (metrics_) {
      write({{"step", state_.step},
             {"epoch", batch.position.epoch},
             {"watch", watcher_->after(stepper_, last_result_.gradient_norm)}});
    }
  }
  show(batch);
}

void Trainer::begin(StepOutcome outcome, double rate, const BatchPosition& last) {
  under_way_.push_back({std::move(outcome), state_.step, rate, last});
  ++state_.step;
  meter_.add_update();
}

void Trainer::settle(std::size_t left) {
  while (under_way_.size() > left) {
    const Begun update = std::move(under_way_.front());
    under_way_.pop_front();
    const StepResult result = update.outcome();
    if (!std::isfinite(result.loss) || !std::isfinite(result.gradient_norm)) diverged(result, update);
    last_result_ = result;
    state_.loss_sum += result.loss;
    state_.recent_sum += result.loss;
    ++state_.loss_steps;
    if (++state_.recent_steps < recipe_.metrics_every_steps) continue;
    write({{"step", update.step + 1},
           {"epoch", update.last.epoch},
           {"loss", state_.recent_sum / static_cast<double>(state_.recent_steps)},
           {"gradient_norm", result.gradient_norm},
           {"learning_rate", update.rate}});
    state_.recent_sum = 0;
    state_.recent_steps = 0;
    note_speed(update.last.epoch, update.step + 1);
  }
}

void Trainer::note_speed(std::int64_t epoch, std::int64_t step, const std::string& set, const Work& evaluation) {
  if (speed_log_) speed_log_->write({epoch, step, end_.seconds(), meter_.take(), set, evaluation});
}

bool Trainer::due_by_steps() const {
  return stepper_.pending().batches == 0 && validates_after_update(recipe_.validate, state_.step);
}

// Only within an epoch; after its last batch, end_epoch decides.
bool Trainer::validation_is_due() const {
  const std::int64_t done = state_.next.batch, all = source_.batches();
  if (valid_set_ == nullptr || done == 0 || done >= all || state_.validated == state_.next) return false;
  return due_by_steps() || validates_within_epoch(done);
}

bool Trainer::validates_within_epoch(std::int64_t done) const {
  const std::int64_t all = source_.batches();
  return valid_set_ != nullptr && done < all && validates_after_batch(recipe_.validate, done, all);
}

bool Trainer::validate_within_epoch() {
  settle(0);
  const std::optional<ReportResults> results = evaluate(*valid_set_, model_parameters());
  if (!results) return false;
  state_.validated = state_.next;
  nlohmann::ordered_json line = {{"epoch", epoch()}, {"step", state_.step}};
  if (is_over() && state_.next.batch > 0) line["loss"] = loss();  // for an epoch without a line of its own
  line["learning_rate"] = rate();
  line["valid"] = results_json(*results);
  write(line);
  const bool kept = keep(results);
  display_.log(fmt::format("{}, step {}  learning rate {:.4g}  valid: {}{}", epoch_text(epoch(), recipe_.end.epochs),
                           state_.step, rate(), results_text(*results), kept && !recipe_.keep.empty() ? "  (best)" : ""));
  const bool restarts = judge(*results);
  if (restarts || agreed(folder_.has_moved())) save();     // a search for values that are not finite restarts here
  if (restarts && batches_) batches_->begin(state_.next);  // with other parameters, and a new update
  return true;
}

// A run that is over validates wherever it is; after an epoch, this may be done already.
bool Trainer::end_within_epoch() {
  if (state_.ended || state_.validated == state_.next) return true;
  if (valid_set_ != nullptr) return validate_within_epoch();
  if (state_.next.batch == 0) return true;
  state_.validated = state_.next;
  write({{"epoch", epoch()}, {"step", state_.step}, {"loss", loss()}, {"learning_rate", rate()}});
  display_.log(fmt::format("{}, step {}  loss {:.4f}", epoch_text(epoch(), recipe_.end.epochs), state_.step, loss()));
  keep(std::nullopt);
  return true;
}

void Trainer::diverged(const StepResult& result, const Begun& update) {
  if (!folder_.is_ours()) {
    together_->gather("");  // process 0 searches for the place and ends all
    throw UserError(ExitCode::kDiverged, "E0670 diverged", figures_text(result));
  }
  steps_since_.rates.resize(steps_since_.rates.size() - under_way_.size());  // the updates begun after it, one batch each
  under_way_.clear();
  if (batches_) batches_->leave();
  display_.log(fmt::format("step {}: {}; repeating {} from '{}' to find where it began", update.step + 1, figures_text(result),
                           counted(static_cast<std::int64_t>(steps_since_.rates.size()), "step"), steps_since_.checkpoint));
  throw graphrun::diverged({result, update.step + 1, update.last.epoch, update.last.batch + 1}, steps_since_, stepper_, source_,
                           network_.job, [this] { return stopped(); });
}

void Trainer::show(const Batch& batch) {
  if (state_.loss_steps == 0) return;  // no loss is known yet
  Progress progress;
  progress.epoch = batch.position.epoch;
  progress.epochs = recipe_.end.epochs;
  progress.step = batch.position.batch + 1;
  progress.steps = source_.batches();
  progress.update = state_.step;
  progress.updates = recipe_.end.updates;
  progress.loss = loss();
  const Work work = of_epoch_.so_far();
  progress.tokens_per_second = work.per_second(work.tokens);
  progress.seconds_left = end_.seconds_left(place(), progress.steps, recipe_.accumulate,
                                            work.seconds / static_cast<double>(std::max<std::int64_t>(work.batches, 1)));
  display_.update(progress);
}

bool Trainer::end_epoch() {
  const std::int64_t epoch = state_.next.epoch;
  const Work work = of_epoch_.so_far();
  const double used = rate();
  look_at_clock();
  const bool due = is_over() || end_.is_last_epoch(epoch) || validates_after_epoch(recipe_.validate, epoch) || due_by_steps();
  std::optional<ReportResults> results;
  if (valid_set_ != nullptr && due) {
    results = evaluate(*valid_set_, model_parameters());
    if (!results) return false;
  }
  nlohmann::ordered_json line = {{"epoch", epoch}, {"step", state_.step}, {"loss", loss()}, {"learning_rate", used}};
  if (results) line["valid"] = results_json(*results);
  write(line);
  const bool kept = keep(results);
  std::string text =
      fmt::format("{}  loss {:.4f}  learning rate {:.4g}  {} tokens/s  {}", epoch_text(epoch, recipe_.end.epochs), loss(), used,
                  short_number(work.per_second(work.tokens)), clock_text(work.seconds));
  if (batches_) {
    const auto percent = [&](double seconds) { return 100 * seconds / std::max(work.seconds, 1e-9); };
    text += fmt::format("  (communication {:.0f} %, waiting {:.0f} %)", percent(batches_->seconds_communicating()),
                        percent(batches_->seconds_waiting()));
  }
  if (results) text += "  valid: " + results_text(*results) + (kept && !recipe_.keep.empty() ? "  (best)" : "");
  display_.log(text);
  if (results) judge(*results);
  state_.next = {epoch + 1, 0};
  if (results) state_.validated = state_.next;
  state_.epoch_begun = false;
  state_.loss_sum = 0;
  state_.loss_steps = 0;
  save();
  return !stopped();
}

std::optional<ReportResults> Trainer::evaluate(const Dataset& set, const NamedTensors& parameters) {
  Variables variables;
  for (const auto& [name, tensor] : parameters) variables.set(name, tensor);
  std::optional<ReportResults> results;
  Work work;
  {
    const WorkMeter::Pause pause(meter_);
    results = evaluator_.evaluate(
        set, variables, [this] { return stopped() || signals_.pending() != 0; }, together_);
    work = {.examples = evaluator_.examples(), .tokens = evaluator_.tokens(), .seconds = pause.seconds()};
  }
  if (results) note_speed(epoch(), state_.step, &set == valid_set_ ? "valid" : "test", work);
  if (results && &set == valid_set_) {
    for (const std::string& line : evaluator_.samples()) display_.log(line);
  }
  return together_ == nullptr ? results : agreed_results(results);
}

// The results of process 0, or none and the signal that stopped the evaluation.
std::optional<ReportResults> Trainer::agreed_results(const std::optional<ReportResults>& own) {
  const std::string text = own ? json_text(nlohmann::ordered_json{{"all", results_json(*own)}}) : "";
  const std::string first = together_->broadcast(text);
  if (!first.empty()) return parse_results(first, "all");
  for (const std::string& one : together_->gather(std::to_string(std::max(signals_.pending(), signal())))) {
    agreed_signal_ = std::max(agreed_signal_, std::stoi(one));
  }
  return std::nullopt;
}

// The tensors of process 0.
NamedTensors Trainer::shared(const NamedTensors& own) {
  if (together_ == nullptr) return own;
  MessageWriter message;
  if (folder_.is_ours()) message.add(own);
  const std::string first = together_->broadcast(message.bytes());
  return folder_.is_ours() ? own : MessageReader(first).tensors();
}

std::string Trainer::reports_text(const std::optional<ReportResults>& results) const {
  nlohmann::ordered_json reports = {{"epoch", epoch()}};
  if (results) reports["valid"] = results_json(*results);
  return json_text(reports) + "\n";
}

bool Trainer::keep(const std::optional<ReportResults>& results) {
  const WorkMeter::Pause pause(meter_);
  BestModel model{state_.step, model_parameters(), reports_text(results), std::nullopt};
  if (!recipe_.keep.empty() && valid_set_ != nullptr) {
    if (!results) return false;
    model.value = result_of(*results, recipe_.keep);
    const double value = *model.value;
    folder_.inside([&] { best_models_.add_candidate(model); });
    const bool better = !state_.best || (recipe_.keep_highest ? value > *state_.best : value < *state_.best);
    // NaN is only better than having no model.
    if (!better || (std::isnan(value) && state_.best_epoch != 0)) return false;
    if (!std::isnan(value)) state_.best = value;
  } else if (results) {
    folder_.inside([&] { best_models_.add_candidate(model); });
  }
  state_.best_epoch = epoch();
  folder_.inside([&] { best_models_.keep(model); });
  if (recipe_.schedule.restart) {
    for (const auto& [group, tensors] : groups()) {
      if (group.starts_with("states")) continue;  // a stream keeps its states
      NamedTensors& best = best_[group];          // even if it is empty: a process may have no slice of the slots
      for (const auto& [name, tensor] : tensors) best[name] = tensor.clone();
    }
  }
  return true;
}

bool Trainer::judge(const ReportResults& results) {
  if (recipe_.keep.empty()) return false;
  const double value = result_of(results, recipe_.keep), before = rate();
  const LearningRate::After after = rate_.after_validation(value, recipe_.keep_highest, state_.step + 1);
  if (after == LearningRate::After::kRestart) go_back();
  const bool stop = recipe_.stop.patience > 0 && !state_.stop.improves(value, recipe_.keep_highest, recipe_.stop.margin) &&
                    state_.stop.waited >= recipe_.stop.patience;
  state_.ended = stop || after == LearningRate::After::kEnd;
  if (rate() != before) {
    display_.log(fmt::format("no improvement: learning rate {:.4g}{}", rate(),
                             after == LearningRate::After::kRestart ? ", from the best parameters on" : ""));
  }
  if (state_.ended) display_.log(fmt::format("no improvement: the training ends at step {}", state_.step));
  return after == LearningRate::After::kRestart;
}

// What outlives a step, as Stepper::groups(). If each process has slices of the slots, only those of this process.
std::map<std::string, NamedTensors> Trainer::groups() {
  std::map<std::string, NamedTensors> groups = stepper_.groups();
  if (sharded() != nullptr) groups[kSlots] = sharded()->own();
  return groups;
}

void Trainer::go_back() {
  if (sharded() == nullptr) {
    stepper_.go_back(best_);
    return;
  }
  std::map<std::string, NamedTensors> others = best_;
  others.erase(kSlots);
  stepper_.go_back(others);
  batches_->take_variables();
  sharded()->set(best_.at(kSlots));
}

// The parameters for a model now. If each process has slices of the moving averages, all processes must call it.
NamedTensors Trainer::model_parameters() {
  NamedTensors parameters = stepper_.model_parameters(state_.step);
  if (sharded() != nullptr && recipe_.options.moving_average > 0 && state_.step > 0) sharded()->average(parameters);
  return parameters;
}

void Trainer::save() {
  const StopSignals::Saving saving(signals_);
  settle(0);
  const WorkMeter::Pause pause(meter_);
  if (together_ != nullptr) check_parameters();
  if (batches_) batches_->gather_states();
  if (metrics_) metrics_->sync();
  if (metrics_) state_.metrics_bytes = metrics_->bytes();
  state_.schedule = rate_.state();
  state_.pending = stepper_.pending();
  if (recipe_.end.hours > 0 || state_.seconds) state_.seconds = end_.seconds();
  Checkpoint checkpoint{groups(), {{"state.json", state_text(state_)}}, {}};
  for (const auto& [group, tensors] : best_) checkpoint.groups[kBestPrefix + group] = tensors;
  const auto write = [&] {
    folder_.inside([&] {
      save_checkpoint(checkpoint_folder(layout_.root, state_.step), checkpoint);
      prune_checkpoints(layout_.root, recipe_.checkpoint.keep);
      best_models_.saved(state_.step);
    });
  };
  if (sharded() != nullptr) {
    sharded()->save(checkpoint, {kSlots, kBestPrefix + kSlots}, write);
  } else {
    write();
  }
  saved_ = seconds_now();
  steps_since_ = {checkpoint_folder(layout_.root, state_.step), {}};
  if (folder_.has_moved()) throw folder_.moved(state_.step);
}

// All processes compute them from the same sums by the same operations, so a difference means that a machine is faulty.
void Trainer::check_parameters() {
  std::string hashes;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : stepper_.model_parameters(0)) {
    names.push_back(name);
    hashes += sha256({reinterpret_cast<const char*>(tensor.raw()), tensor.bytes()});
  }
  const std::vector<std::string> all = together_->gather(hashes);
  const std::size_t each = hashes.size() / names.size();
  for (int rank = 1; rank < together_->size(); ++rank) {
    const std::string& theirs = all[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (theirs.compare(i * each, each, all[0], i * each, each) == 0) continue;
      throw UserError(ExitCode::kRunFailed, "E0535 unequal-parameters",
                      fmt::format("at step {}, parameter '{}' of {} differs from that of process 0", state_.step, names[i],
                                  together_->name(rank)),
                      {"note: the last checkpoint is kept", "help: one of the machines computes wrong results"});
    }
  }
}

// Makes the mean of the candidates the model. Adds its line of metrics to `lines`.
bool Trainer::average(std::vector<nlohmann::ordered_json>& lines) {
  std::optional<BestModel> mean;
  folder_.inside([&] { mean = best_models_.mean(); });
  state_.averaged = agreed(mean.has_value());
  if (!state_.averaged) return true;
  const std::optional<ReportResults> results = evaluate(*valid_set_, shared(mean ? mean->parameters : NamedTensors()));
  if (!results) return false;
  if (!mean) return true;  // only process 0 has it
  mean->step = state_.step;
  mean->reports = reports_text(results);
  lines.push_back({{"step", state_.step}, {"average", results_json(*results)}});
  display_.log("average of the parameters  valid: " + results_text(*results));
  folder_.inside([&] { best_models_.keep(*mean); });
  return true;
}

// Computes the reports of the model in the folder: on the validation set as recorded, and on the test set.
bool Trainer::finish() {
  std::vector<nlohmann::ordered_json> lines;  // written only at the end: a signal before repeats everything on resuming
  if (recipe_.average.number > 0 && valid_set_ != nullptr && !average(lines)) return false;
  Parameters best;
  folder_.inside([&] { best = read_parameters(layout_); });
  if (const std::optional<ReportResults> valid = parse_results(best.reports, "valid")) results_.emplace_back("valid", *valid);
  if (test_set_ != nullptr) {
    const auto test = evaluate(*test_set_, shared(best.tensors));
    if (!test) return false;
    const std::int64_t of = lines.empty() ? state_.best_epoch : epoch();  // the average is made at the end
    lines.push_back({{"epoch", of}, {"test", results_json(*test)}});
    results_.emplace_back("test", *test);
  }
  for (const nlohmann::ordered_json& line : lines) write(line);
  state_.finished = true;
  save();
  return true;
}

}  // namespace graphrun
