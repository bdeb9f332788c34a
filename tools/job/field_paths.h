// The paths of a job's fields, as --set takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graphs/job.pb.h"

namespace graphrun {

// The paths of single values that end in `name`: "learning_rate" is train.optimizer.sgd.learning_rate. For a oneof, only the
// choice of the job counts, or every choice if it has none; for repeated messages, those that the job has.
std::vector<std::string> field_paths(const Job& job, std::string_view name);

}  // namespace graphrun
