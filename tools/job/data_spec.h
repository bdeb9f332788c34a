// Converts a job's `data` to a plain struct.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/source.h"
#include "graphs/job.pb.h"
#include "tools/data/spec.h"

namespace graphrun {

// Mistakes are added to `problems`: E0410 missing-setting, E0411 bad-setting, E0412 unknown-name, E0416 named-twice. Relative
// paths start in `folder`.
DataSpec make_data_spec(const Job& job, const Places& places, const std::string& folder, std::vector<Diagnostic>& problems);

// The path with which the program opens a file.
std::string path_in(const std::string& folder, const std::string& path);

}  // namespace graphrun
