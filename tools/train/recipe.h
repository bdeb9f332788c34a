// What a job's `train` block says, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/program.h"
#include "tools/job/job.h"
#include "tools/train/schedule.h"

namespace graphrun {

struct InitializeRule {
  std::string match;  // a pattern over parameters' names
  VariableSpec::Init init = VariableSpec::Init::kConstant;
  double amount = 0;
  Location at;
};

struct Recipe {
  TrainOptions options;  // what the compiler adds
  std::vector<InitializeRule> initialize;
  double learning_rate = 0;
  ScheduleRule schedule;
  std::int64_t epochs = 1;
  std::uint64_t seed = 0;
  std::int64_t validate_every = 1;  // epochs
  std::string keep;                 // the report whose best parameters the model keeps; empty: the last ones
  bool keep_highest = true;
  std::int64_t checkpoint_every_steps = 0;  // 0: at the end of each epoch alone
};

// `job` has passed require_training.
Recipe make_recipe(const LoadedJob& job);

}  // namespace graphrun
