// What a job says beside `data`, checked: train, report, infer, args.
#pragma once

#include <vector>

#include "runtime/base/status.h"
#include "tools/job/job.h"

namespace graphrun {

// Fills `job.report` and `job.infer` and adds to `problems` everything that is wrong (E0410 to E0418). `job.data` and
// `job.plan` are there.
void check_job(LoadedJob& job, std::vector<Diagnostic>& problems);

}  // namespace graphrun
