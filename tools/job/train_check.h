// Checks a job's `train`.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/job/job.h"

namespace graphrun {

// Adds all mistakes to `diagnostics` (E0410 to E0414). `reports`: the names of the results of the job's reports.
void check_train(const LoadedJob& job, const std::vector<std::string>& reports, std::vector<Diagnostic>& diagnostics);

// Reports what training needs and the job lacks.
void check_training(const LoadedJob& job, std::vector<Diagnostic>& problems);

}  // namespace graphrun
