#include "tools/train/run_length.h"

#include <algorithm>
#include <limits>

namespace graphrun {
namespace {

// The number of validations after the first `updates` updates, and whether one follows the last of them.
struct Validations {
  std::int64_t count = 0;
  bool at_end = false;
};
Validations validations_of(const ValidateRule& rule, const RunShape& shape, std::int64_t updates) {
  if (!shape.validates || updates == 0) return {0, !shape.validates};
  const std::int64_t epochs = updates / shape.updates_of_epoch(), rest = updates % shape.updates_of_epoch();
  if (rule.steps > 0) return {updates / rule.steps, validates_after_update(rule, updates)};
  if (rule.times_per_epoch > 0) {
    const std::int64_t times = std::min(rule.times_per_epoch, shape.batches), batches = rest * shape.accumulate;
    return {epochs * times + batches * times / shape.batches, rest == 0 || validates_after_batch(rule, batches, shape.batches)};
  }
  return {epochs / rule.epochs, rest == 0 && validates_after_epoch(rule, epochs)};
}

}  // namespace

bool validates_after_batch(const ValidateRule& rule, std::int64_t done, std::int64_t all) {
  return done * rule.times_per_epoch / all > (done - 1) * rule.times_per_epoch / all;
}

bool validates_after_update(const ValidateRule& rule, std::int64_t update) {
  return rule.steps > 0 && update > 0 && update % rule.steps == 0;
}

bool validates_after_epoch(const ValidateRule& rule, std::int64_t epoch) {
  return rule.times_per_epoch > 0 || (rule.epochs > 0 && epoch % rule.epochs == 0);
}

RunLength length_of_run(const EndRule& end, const ValidateRule& rule, const RunShape& shape, double seconds_of_update,
                        double seconds_of_validation) {
  RunLength run{std::numeric_limits<std::int64_t>::max(), 0, RunLength::End::kHours};
  if (end.epochs > 0) run = {end.epochs * shape.updates_of_epoch(), 0, RunLength::End::kEpochs};
  if (end.updates > 0 && end.updates < run.updates) run = {end.updates, 0, RunLength::End::kUpdates};
  if (end.hours > 0) {
    const auto seconds = [&](std::int64_t updates) {
      return static_cast<double>(updates) * seconds_of_update +
             static_cast<double>(validations_of(rule, shape, updates).count) * seconds_of_validation;
    };
    // Searches for the first update after which the time is over; it is certainly over after `most` updates.
    const double most = end.hours * 3600 / std::max(seconds_of_update, 1e-9) + 1;
    std::int64_t first = 1, last = most < 1e18 ? std::min(run.updates, static_cast<std::int64_t>(most)) : run.updates;
    while (first < last) {
      const std::int64_t middle = first + (last - first) / 2;
      if (seconds(middle) >= end.hours * 3600) {
        last = middle;
      } else {
        first = middle + 1;
      }
    }
    if (first < run.updates) run = {first, 0, RunLength::End::kHours};
  }
  const Validations validations = validations_of(rule, shape, run.updates);
  run.validations = validations.count + (validations.at_end ? 0 : 1);
  return run;
}

}  // namespace graphrun
