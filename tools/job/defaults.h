// The defaults of a job.
#pragma once

#include "graphs/job.pb.h"

namespace graphrun {

inline constexpr int kMetricsEverySteps = 100;  // updates
inline constexpr int kWatchEverySteps = 100;    // updates
inline constexpr int kKeptCheckpoints = 2;

// Sets the fields of `train` whose defaults are not zero: those of the optimizer, the validation interval, …
void fill_defaults(Job& job);

}  // namespace graphrun
