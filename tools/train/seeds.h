// One run for each of several seeds, and what they come to together.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/train/train.h"

namespace graphrun {

// Trains into OUT/seed-N for each N, one after the other; with `request.resume` finished runs stay and the others are continued
// with or begun. At the end stdout has a table of every run's reports with their mean and deviation (of a sample), and
// OUT/seeds.json the same; finished runs of other seeds that stand in OUT count too. A run that diverges does not end the
// others. Returns kDone, kDiverged where a run did, or 128 + N where signal N came. Throws UserError: train()'s; (kUsage,
// E0520) before anything begins where a run stands in the way.
ExitCode train_seeds(const TrainRequest& request, const std::vector<std::uint64_t>& seeds);

}  // namespace graphrun
