// Checks the parts of a job other than `data`: train, report, infer, args.
#pragma once

#include <vector>

#include "runtime/base/status.h"
#include "tools/job/job.h"

namespace graphrun {

// Fills `job.report` and `job.infer` and adds all mistakes to `problems` (E0410 to E0418). `job.data` and `job.plan` must be
// set.
void check_job(LoadedJob& job, std::vector<Diagnostic>& problems);

}  // namespace graphrun
