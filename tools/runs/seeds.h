// Trains one run for each of several seeds, and summarizes them.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/train/train.h"

namespace graphrun {

// Trains into OUT/seed-N for each N, one after the other. Unless `request.begin` is kNew, finished runs stay and the others are
// resumed or begun. At the end, prints a table of every run's reports with mean and sample deviation to stdout, and writes the
// same to OUT/seeds.json; finished runs of other seeds in OUT are included. A run that diverges does not end the others.
// Returns kDone, kDiverged if a run diverged, or 128 + N after signal N. Throws UserError: train()'s; (kUsage, E0520), before
// anything begins, if a run is in the way.
ExitCode train_seeds(const TrainRequest& request, const std::vector<std::uint64_t>& seeds);

}  // namespace graphrun
