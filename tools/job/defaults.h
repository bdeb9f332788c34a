// What a job does not say, as what stands for it.
#pragma once

#include "graphs/job.pb.h"

namespace graphrun {

inline constexpr int kMetricsEverySteps = 100;  // updates
inline constexpr int kKeptCheckpoints = 2;

// Sets the fields of `train` whose defaults are no plain zeros: those of its optimizer's operator, how often is validated, …
void fill_defaults(Job& job);

}  // namespace graphrun
