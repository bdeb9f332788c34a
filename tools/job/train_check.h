// What a job's `train` says, checked.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/job/job.h"

namespace graphrun {

// Adds to `diagnostics` everything that is wrong (E0410 to E0414). `reports`: the names of the job's reports' results.
void check_train(const LoadedJob& job, const std::vector<std::string>& reports, std::vector<Diagnostic>& diagnostics);

// What training needs and the job does not say.
void check_training(const LoadedJob& job, std::vector<Diagnostic>& problems);

}  // namespace graphrun
