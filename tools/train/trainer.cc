#include "tools/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/checkpoint.h"
#include "runtime/file.h"

namespace graphrun {
namespace {

constexpr std::int64_t kMetricsEvery = 100;  // steps
constexpr int kKeptCheckpoints = 2;

// The parameters that a run which was cut off left for steps that it has yet to take.
void drop_newer_than(const std::string& root, std::int64_t step, const std::string& kind) {
  const std::string last = checkpoint_folder(root, step, kind);
  while (const std::optional<std::string> newest = newest_complete(root, kind)) {
    if (newest->size() < last.size() || (newest->size() == last.size() && *newest <= last)) return;  // numbers of one width
    remove_folder(*newest);
  }
}

std::string set_text(const char* name, const Dataset& set, const DataSpec& data) {
  std::string text = data.format == Format::kStream ? fmt::format("{} {} steps", name, set.size() == 0 ? 0 : set.steps(0, 0))
                                                    : fmt::format("{} {} examples", name, set.size());
  if (set.dropped() > 0) text += fmt::format(" ({} too long and left out)", set.dropped());
  return text;
}

}  // namespace

Trainer::Trainer(const ModelLayout& layout, const Network& network, const Recipe& recipe, Stepper& stepper,
                 Evaluator& evaluator, ProgressDisplay& display, const StopSignals& signals)
    : layout_(layout),
      network_(network),
      recipe_(recipe),
      stepper_(stepper),
      evaluator_(evaluator),
      display_(display),
      signals_(signals),
      rate_(recipe.schedule, recipe.learning_rate) {
  state_.seed = recipe.seed;
  state_.learning_rate = rate_.rate();
  const DataSpec& data = network.job.data;
  DatasetOptions training;
  training.training = true;
  train_set_.emplace(read_dataset(data, network.vocabularies, data.train, training));
  if (!data.valid.empty()) valid_set_.emplace(read_dataset(data, network.vocabularies, data.valid));
  if (!data.test.empty()) test_set_.emplace(read_dataset(data, network.vocabularies, data.test));
  BatchOptions options;
  options.shuffle = data.format != Format::kStream;
  options.seed = recipe.seed;
  options.feeds = stepper.feeds();
  source_.emplace(data, *network.job.plan, *train_set_, options);
}

std::string Trainer::data_summary() const {
  const DataSpec& data = network_.job.data;
  std::string text = set_text("train", *train_set_, data) + fmt::format(", {} batches", source_->batches());
  if (source_->unused_steps() > 0) text += fmt::format(", {} steps at its end unused", source_->unused_steps());
  if (source_->too_long() > 0) text += fmt::format(", {} of one example longer than batch.tokens", source_->too_long());
  if (valid_set_) text += "; " + set_text("valid", *valid_set_, data);
  if (test_set_) text += "; " + set_text("test", *test_set_, data);
  return text;
}

void Trainer::restore(const std::string& folder) {
  const CheckpointReader checkpoint(folder);
  stepper_.restore(checkpoint);
  state_ = parse_state(checkpoint.text("state.json"), folder + "/state.json");
  if (const std::string& model = state_.model; !model.empty() && model != digest_file(layout_.manifest()).sha256) {
    throw UserError(ExitCode::kBadData, "E0667 other-model",
                    fmt::format("'{}' belongs to another run than this folder", folder),
                    {fmt::format("note: it was made with another job, other graphs, vocabularies or data than '{}' lists",
                                 layout_.manifest()),
                     "help: go on with it in the folder it was made in"});
  }
  rate_.restore(state_.learning_rate);
  steps_since_ = {folder, {}};
  drop_newer_than(layout_.root, state_.step, "best");
}

ExitCode Trainer::run() {
  metrics_.emplace(layout_.metrics(), state_.metrics_bytes);
  if (events_) metrics_->mirror(layout_.events());
  state_.model = digest_file(layout_.manifest()).sha256;
  if (steps_since_.checkpoint.empty()) save();
  if (state_.step > 0) display_.log(fmt::format("going on from step {}, epoch {}", state_.step, state_.next.epoch));
  bool going = true;
  while (going && state_.next.epoch <= recipe_.epochs) going = run_epoch() && end_epoch();
  if (going && finish()) return ExitCode::kDone;
  const int signal = signals_.pending();
  save();
  display_.log(fmt::format("stopped by signal {} at step {}; --resume goes on from there", signal, state_.step));
  return static_cast<ExitCode>(128 + signal);
}

void Trainer::reserve_memory() {
  stepper_.reserve(source_->largest());
  if (valid_set_) evaluator_.reserve(*valid_set_);
  if (test_set_) evaluator_.reserve(*test_set_);
}

bool Trainer::run_epoch() {
  if (!state_.epoch_begun) rate_.begin_epoch(state_.next.epoch);
  state_.epoch_begun = true;
  source_->begin(state_.next);
  speed_.restart();
  const std::int64_t every = recipe_.checkpoint_every_steps;
  while (std::optional<Batch> batch = source_->next()) {
    one_step(*batch);
    if (stopped()) return false;
    if (every > 0 && state_.step % every == 0) save();
  }
  return true;
}

void Trainer::one_step(const Batch& batch) {
  steps_since_.rates.push_back(rate_.rate());
  const StepResult result = stepper_.step(batch, state_.step, rate_.rate());
  if (!std::isfinite(result.loss) || !std::isfinite(result.gradient_norm)) diverged(result, batch);
  ++state_.step;
  state_.next = {batch.position.epoch, batch.position.batch + 1};
  state_.loss_sum += result.loss;
  state_.recent_sum += result.loss;
  ++state_.loss_steps;
  ++state_.recent_steps;
  speed_.add(batch.tokens);
  show(batch);
  if (state_.recent_steps == kMetricsEvery) write_recent(result);
}

void Trainer::write_recent(const StepResult& result) {
  metrics_->write({{"step", state_.step},
                   {"epoch", state_.next.epoch},
                   {"loss", state_.recent_sum / static_cast<double>(state_.recent_steps)},
                   {"gradient_norm", result.gradient_norm},
                   {"learning_rate", rate_.rate()}});
  state_.recent_sum = 0;
  state_.recent_steps = 0;
}

void Trainer::diverged(const StepResult& result, const Batch& batch) {
  const std::string& checkpoint = steps_since_.checkpoint;
  const std::string found =
      fmt::format("loss {}, norm of the gradient {}", number_text(result.loss), number_text(result.gradient_norm));
  display_.log(fmt::format("step {}: {}; going over {} steps from '{}' again to find where it began", state_.step + 1, found,
                           steps_since_.rates.size(), checkpoint));
  Diagnostic problem{
      Severity::kError,
      "E0670 diverged",
      {},
      fmt::format("step {} (epoch {}, batch {}): {}", state_.step + 1, batch.position.epoch, batch.position.batch + 1, found),
      {}};
  try {
    if (const auto first = find_not_finite(steps_since_, stepper_, *source_, [this] { return stopped(); })) {
      problem.at = first->at;
      problem.notes.push_back("note: the first that is not finite is " + first->what);
    }
  } catch (const UserError& error) {
    problem.notes.push_back("note: where it began could not be found: " + error.diagnostics().front().text);
  }
  problem.notes.push_back("note: the last checkpoint is kept: " + checkpoint);
  problem.notes.push_back("help: a lower learning rate, or clip { global_norm: … }");
  throw UserError(ExitCode::kDiverged, {std::move(problem)});
}

void Trainer::show(const Batch& batch) {
  Progress progress;
  progress.epoch = batch.position.epoch;
  progress.epochs = recipe_.epochs;
  progress.step = batch.position.batch + 1;
  progress.steps = source_->batches();
  progress.loss = state_.loss_sum / static_cast<double>(state_.loss_steps);
  progress.tokens_per_second = speed_.tokens_per_second();
  const std::int64_t left = (progress.epochs - progress.epoch) * progress.steps + progress.steps - progress.step;
  progress.seconds_left = static_cast<double>(left) * speed_.seconds_per_step();
  display_.update(progress);
}

bool Trainer::end_epoch() {
  const std::int64_t epoch = state_.next.epoch;
  const double seconds = speed_.seconds(), speed = speed_.tokens_per_second(), rate = rate_.rate();
  const bool validate = valid_set_ && (epoch % recipe_.validate_every == 0 || epoch == recipe_.epochs);
  std::optional<ReportResults> results;
  if (validate) {
    results = evaluator_.evaluate(*valid_set_, stepper_.variables(), [this] { return stopped(); });
    if (!results) return false;
  }
  const double loss = state_.loss_sum / static_cast<double>(std::max<std::int64_t>(state_.loss_steps, 1));
  nlohmann::ordered_json line = {{"epoch", epoch}, {"step", state_.step}, {"loss", loss}, {"learning_rate", rate}};
  if (results) line["valid"] = results_json(*results);
  metrics_->write(line);
  const bool kept = keep(results);
  if (results) rate_.after_validation(kept);
  std::string text = fmt::format("epoch {}/{}  loss {:.4f}  learning rate {:.4g}  {} tokens/s  {}", epoch, recipe_.epochs, loss,
                                 rate, short_number(speed), clock_text(seconds));
  if (results) text += "  valid: " + results_text(*results) + (kept && !recipe_.keep.empty() ? "  (best)" : "");
  display_.log(text);
  state_.next = {epoch + 1, 0};
  state_.epoch_begun = false;
  state_.loss_sum = 0;
  state_.loss_steps = 0;
  save();
  return !stopped();
}

// Whether these parameters are the best so far, or, where the job names no report, simply the last; then the model has them.
bool Trainer::keep(const std::optional<ReportResults>& results) {
  if (!recipe_.keep.empty() && valid_set_) {
    if (!results) return false;
    const double value = result_of(*results, recipe_.keep);
    const bool better = !state_.best || (recipe_.keep_highest ? value > *state_.best : value < *state_.best);
    if (!better || std::isnan(value)) return false;
    state_.best = value;
  }
  state_.best_epoch = state_.next.epoch;
  Checkpoint best;
  best.groups["parameters"] = stepper_.groups()["parameters"];
  nlohmann::ordered_json reports = {{"epoch", state_.next.epoch}};
  if (results) reports["valid"] = results_json(*results);
  best.texts["reports.json"] = reports.dump() + "\n";
  save_checkpoint(checkpoint_folder(layout_.root, state_.step, "best"), best);
  prune_checkpoints(layout_.root, 1, "best");
  return true;
}

void Trainer::save() {
  metrics_->sync();
  state_.metrics_bytes = metrics_->bytes();
  state_.learning_rate = rate_.rate();
  save_checkpoint(checkpoint_folder(layout_.root, state_.step), {stepper_.groups(), {{"state.json", state_text(state_)}}});
  prune_checkpoints(layout_.root, kKeptCheckpoints);
  steps_since_ = {checkpoint_folder(layout_.root, state_.step), {}};
}

// The reports of what the model's folder has now: on the validation set as they were, on the test set.
bool Trainer::finish() {
  const Parameters best = read_parameters(layout_);
  if (const std::optional<ReportResults> valid = parse_results(best.reports, "valid")) results_.emplace_back("valid", *valid);
  if (test_set_) {
    Variables parameters;
    for (const auto& [name, tensor] : best.tensors) parameters.set(name, tensor);
    const auto test = evaluator_.evaluate(*test_set_, parameters, [this] { return stopped(); });
    if (!test) return false;
    metrics_->write({{"epoch", state_.best_epoch}, {"test", results_json(*test)}});
    results_.emplace_back("test", *test);
  }
  state_.finished = true;
  save();
  return true;
}

}  // namespace graphrun
