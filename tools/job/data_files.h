// The files of a job's data and vocabularies.
#pragma once

#include <vector>

#include "tools/job/job.h"

namespace graphrun {

// Reports the files that cannot be opened, each at its location in the job. Pipes are not checked, because opening one would
// consume it.
std::vector<Diagnostic> unreadable_files(const LoadedJob& job);

}  // namespace graphrun
