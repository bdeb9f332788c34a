// Predicts the length of a run from its job.
#pragma once

#include <cstdint>

#include "tools/train/recipe.h"

namespace graphrun {

// Whether a validation is due after batch `done` (from 1) of `all` batches of an epoch; after update `update`; at the end of
// epoch `epoch`. The last function decides for the last batch of an epoch.
bool validates_after_batch(const ValidateRule& rule, std::int64_t done, std::int64_t all);
bool validates_after_update(const ValidateRule& rule, std::int64_t update);
bool validates_after_epoch(const ValidateRule& rule, std::int64_t epoch);

struct RunShape {
  std::int64_t batches = 1;     // of an epoch
  std::int64_t accumulate = 1;  // batches per update
  bool validates = true;        // there is data for validation
  std::int64_t updates_of_epoch() const { return (batches + accumulate - 1) / accumulate; }
};

struct RunLength {
  std::int64_t updates = 0, validations = 0;
  enum class End { kEpochs, kUpdates, kHours } end = End::kEpochs;  // what ends it
};

// The length of a run with the given seconds per update and per validation, unless a rule ends it early.
RunLength length_of_run(const EndRule& end, const ValidateRule& rule, const RunShape& shape, double seconds_of_update,
                        double seconds_of_validation);

}  // namespace graphrun
