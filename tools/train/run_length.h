// How long a run is going to be, as far as its job says.
#pragma once

#include <cstdint>

#include "tools/train/recipe.h"

namespace graphrun {

// Whether a validation is due behind batch `done` of the `all` of an epoch, from 1; behind update `update`; at the end of epoch
// `epoch`. What an epoch's last batch is followed by, the end of the epoch says.
bool validates_after_batch(const ValidateRule& rule, std::int64_t done, std::int64_t all);
bool validates_after_update(const ValidateRule& rule, std::int64_t update);
bool validates_after_epoch(const ValidateRule& rule, std::int64_t epoch);

struct RunShape {
  std::int64_t batches = 1;     // of an epoch
  std::int64_t accumulate = 1;  // batches of an update
  bool validates = true;        // there is data for it
  std::int64_t updates_of_epoch() const { return (batches + accumulate - 1) / accumulate; }
};

struct RunLength {
  std::int64_t updates = 0, validations = 0;
  enum class End { kEpochs, kUpdates, kHours } end = End::kEpochs;  // what it ends by
};

// Of a run whose updates and validations each take so many seconds, unless a rule ends it early.
RunLength length_of_run(const EndRule& end, const ValidateRule& rule, const RunShape& shape, double seconds_of_update,
                        double seconds_of_validation);

}  // namespace graphrun
