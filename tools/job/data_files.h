// The files that a job's data is in, and its vocabularies.
#pragma once

#include <vector>

#include "tools/job/job.h"

namespace graphrun {

// Those that can't be opened, each at its place in the job. Pipes are taken as they are: opening one would take it away.
std::vector<Diagnostic> unreadable_files(const LoadedJob& job);

}  // namespace graphrun
