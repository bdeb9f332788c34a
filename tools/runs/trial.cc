#include "tools/runs/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/cli/program.h"
#include "tools/run/progress.h"
#include "tools/run/run_folder.h"
#include "tools/run/signals.h"
#include "tools/run/speed_log.h"
#include "tools/train/begin.h"
#include "tools/train/not_finite.h"
#include "tools/train/prepared.h"
#include "tools/train/training_data.h"

namespace graphrun {
namespace {

// "0.0123 s", "1.53 s"
std::string short_seconds(double seconds) { return fmt::format("{:.3g} s", seconds); }
std::string megabytes(std::int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }
// "0.42 s", "1:05", "2:03:04"
std::string duration(double seconds) { return seconds < 10 ? short_seconds(seconds) : clock_text(seconds); }

// Runs the first updates of a run.
class TrialRun {
 public:
  TrialRun(Prepared& prepared, TrainingData& data, StopSignals& signals)
      : recipe_(prepared.recipe),
        stepper_(prepared.stepper),
        source_(data.batches()),
        signals_(signals),
        rate_(recipe_.schedule, recipe_.learning_rate) {
    begin_epoch();
  }

  // Runs the updates and sets their figures; false after a signal.
  bool updates(std::int64_t number, TrialFigures& figures) {
    for (std::int64_t i = 0; i < number; ++i) {
      const double begun = seconds_now();
      WorkMeter meter;
      if (!update(meter)) return false;
      meter.add_update();
      const Work work = meter.take();
      const double seconds = seconds_now() - begun;
      if (i == 0) figures.first = figures.least = figures.most = seconds;
      // The first update includes one-time work, so it only counts if it is the only one.
      if (i == 1) figures.work = {}, figures.least = figures.most = seconds;
      figures.least = std::min(figures.least, seconds), figures.most = std::max(figures.most, seconds);
      figures.work.updates += work.updates, figures.work.examples += work.examples, figures.work.tokens += work.tokens;
      figures.work.seconds += seconds;
    }
    return true;
  }
  std::int64_t step() const { return step_; }

 private:
  void begin_epoch() {
    rate_.begin_epoch(++epoch_);
    source_.begin({epoch_, 0});
  }

  // One update, with as many batches as it needs.
  bool update(WorkMeter& meter) {
    std::optional<StepResult> result;
    while (!result) {
      if (signals_.pending() != 0) return false;
      const double rate = rate_.rate(step_ + 1);
      const std::optional<Batch> batch = source_.next();
      if (batch) {
        meter.add(*batch);
        if (const std::optional<StepOutcome> outcome = stepper_.add(*batch, step_, rate)) result = (*outcome)();
      } else {
        result = stepper_.finish(step_, rate);
        begin_epoch();
      }
    }
    ++step_;
    if (std::isfinite(result->loss) && std::isfinite(result->gradient_norm)) return true;
    throw UserError(ExitCode::kDiverged, "E0670 diverged", fmt::format("step {}: {}", step_, figures_text(*result)),
                    {"help: a lower learning rate, or clip { global_norm: … }; without --try the equation is named"});
  }

  const Recipe& recipe_;
  Stepper& stepper_;
  BatchSource& source_;
  StopSignals& signals_;
  LearningRate rate_;
  std::int64_t epoch_ = 0, step_ = 0;
};

double size_of(const Dataset& set, const DataSpec& data) {
  return static_cast<double>(data.format == Format::kStream && set.size() > 0 ? set.steps(0, 0) : set.size());
}

// Sets the figures that follow from the data's sizes and the job.
void describe_run(const Prepared& prepared, const TrainingData& data, TrialFigures& figures) {
  const Recipe& recipe = prepared.recipe;
  figures.end = recipe.end;
  figures.rule = recipe.validate;
  figures.may_end_early =
      recipe.stop.patience > 0 || (recipe.schedule.kind == ScheduleRule::Kind::kNoImprovement && recipe.schedule.decays > 0);
  figures.shape = {data.batches().batches(), recipe.accumulate, data.valid() != nullptr};
  figures.validated = data.valid() != nullptr ? "valid" : data.test() != nullptr ? "test" : "";
  if (recipe.average.number > 0 && data.valid() != nullptr) figures.more_evaluations += 1;
  if (data.test() == nullptr) return;
  const DataSpec& spec = prepared.network.job.data;
  figures.more_evaluations +=
      data.valid() == nullptr ? 1 : size_of(*data.test(), spec) / std::max(1.0, size_of(*data.valid(), spec));
}

// The size of all variables that outlive a step.
std::int64_t bytes_of(const Stepper& stepper) {
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : stepper.variables().all()) bytes += static_cast<std::int64_t>(tensor.bytes());
  return bytes;
}

std::string end_text(const TrialFigures& figures, const RunLength& run) {
  switch (run.end) {
    case RunLength::End::kEpochs: return fmt::format("after {}", counted(figures.end.epochs, "epoch"));
    case RunLength::End::kUpdates: return fmt::format("after {}", counted(run.updates, "update"));
    case RunLength::End::kHours: return fmt::format("after {:g} hour{}", figures.end.hours, figures.end.hours == 1 ? "" : "s");
  }
  return "";
}

ExitCode run_trial(const TrainRequest& request, std::int64_t updates, StopSignals& signals, ProgressDisplay& display,
                   std::vector<Diagnostic>& warnings) {
  LoadedJob job = parse_job(request.text, request.job, request.settings);
  require_training(job);
  warnings = std::move(job.warnings);
  if (!request.out.empty()) require_no_run(request.out, true);
  std::optional<ReadExamples> training;
  Network opened = new_network(std::move(job), training);
  NetworkGraphs graphs = load_graphs(opened, warnings);
  Prepared prepared(std::move(opened), std::move(graphs), *request.device, warnings);
  Stepper& stepper = prepared.stepper;
  const BeginNotes notes = begin_parameters(prepared.recipe, prepared.network, stepper, warnings);
  if (!warnings.empty()) display.warn(warnings);
  warnings.clear();

  TrainingData data(prepared.network, stepper.feeds(), read_sets(prepared.network, std::move(training)));
  if (const auto warning = data.too_many_validations(prepared.recipe.validate)) display.warn({*warning});
  data.reserve_memory(stepper, prepared.evaluator);
  describe(display, prepared, data);
  for (const std::string& note : notes.log) display.log(note);

  TrialFigures figures;
  const Batch largest = data.batches().largest();
  figures.largest_rows = largest.rows;
  figures.largest_steps = *std::max_element(largest.steps.begin(), largest.steps.end());
  figures.values = static_cast<std::int64_t>(stepper.arena_bytes());  // for the batch for which memory was reserved
  describe_run(prepared, data, figures);
  TrialRun run(prepared, data, signals);
  display.log(fmt::format("trying {}", counted(updates, "update")));
  const auto stopped = [&] { return signals.pending() != 0; };
  const auto stop = [&] {
    display.log(fmt::format("stopped by signal {}; no files are left", signals.pending()));
    return static_cast<ExitCode>(128 + signals.pending());
  };
  if (!run.updates(updates, figures)) return stop();
  if (const Dataset* const set = data.valid() != nullptr ? data.valid() : data.test()) {
    display.log("trying a validation");
    Variables parameters;
    for (const auto& [name, tensor] : stepper.model_parameters(run.step())) parameters.set(name, tensor);
    const double begun = seconds_now();
    if (!prepared.evaluator.evaluate(*set, parameters, stopped)) return stop();
    figures.validation = {
        .examples = prepared.evaluator.examples(), .tokens = prepared.evaluator.tokens(), .seconds = seconds_now() - begun};
  }
  figures.variables = bytes_of(stepper);
  figures.resident = peak_resident_bytes();
  write_output("-", trial_text(figures));
  return ExitCode::kDone;
}

}  // namespace

std::string trial_text(const TrialFigures& f) {
  const double update = f.work.seconds / static_cast<double>(std::max<std::int64_t>(f.work.updates, 1));
  const RunLength run = length_of_run(f.end, f.rule, f.shape, update, f.validation.seconds);
  const std::int64_t updates = f.shape.updates_of_epoch();
  std::string text;
  const auto line = [&](const char* what, const std::string& value) { text += fmt::format("{:<14}{}\n", what, value); };
  line("an update", fmt::format("{}, from {} to {}; the first took {}", short_seconds(update), short_seconds(f.least),
                                short_seconds(f.most), short_seconds(f.first)));
  line("", fmt::format("{:.4g} updates/s, {} examples/s, {} tokens/s", f.work.per_second(f.work.updates),
                       short_number(f.work.per_second(f.work.examples)), short_number(f.work.per_second(f.work.tokens))));
  if (f.validated.empty()) {
    line("a validation", "none: there is no data for it");
  } else {
    line("a validation", fmt::format("{}, {} examples/s, {} tokens/s{}", short_seconds(f.validation.seconds),
                                     short_number(f.validation.per_second(f.validation.examples)),
                                     short_number(f.validation.per_second(f.validation.tokens)),
                                     f.validated == "test" ? ", of the test data: there is no other" : ""));
  }
  line("an epoch", fmt::format("{}, {}, {}", counted(f.shape.batches, "batch", "es"), counted(updates, "update"),
                               duration(static_cast<double>(updates) * update)));
  line("the run", fmt::format("ends {}{}: {}, {:.1f} epochs, {}", f.may_end_early ? "at the latest " : "", end_text(f, run),
                              counted(run.updates, "update"),
                              static_cast<double>(run.updates) / static_cast<double>(std::max<std::int64_t>(updates, 1)),
                              counted(run.validations, "validation")));
  const double training = static_cast<double>(run.updates) * update;
  const double validating = (static_cast<double>(run.validations) + f.more_evaluations) * f.validation.seconds;
  line("time",
       fmt::format("{}: {} of updates, {} of validations{}; saves are not counted", duration(training + validating),
                   duration(training), duration(validating), f.more_evaluations > 0 ? ", those of the end included" : ""));
  line("memory", fmt::format("{} resident at most", megabytes(f.resident)));
  line("", fmt::format("{} of it for the largest batch, {} of {}", megabytes(f.values), counted(f.largest_rows, "row"),
                       counted(f.largest_steps, "step")));
  line("", fmt::format("{} for parameters, optimizer and states; a checkpoint takes as much on disk", megabytes(f.variables)));
  return text;
}

ExitCode try_training(const TrainRequest& request, std::int64_t updates) {
  StopSignals signals;  // before any thread starts
  ProgressDisplay display(ProgressDisplay::for_stderr(request.quiet));
  std::vector<Diagnostic> warnings;
  try {
    return run_trial(request, updates, signals, display, warnings);
  } catch (const UserError& error) {
    throw with_warnings(error, warnings);
  }
}

}  // namespace graphrun
