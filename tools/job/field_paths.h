// The paths of a job's fields, as --set takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graphs/job.pb.h"

namespace graphrun {

// Those of single values that end as `name` does: "learning_rate" is train.optimizer.sgd.learning_rate. Of a oneof only what
// the job has counts, or every choice where it has none; of repeated messages those that it has.
std::vector<std::string> field_paths(const Job& job, std::string_view name);

}  // namespace graphrun
