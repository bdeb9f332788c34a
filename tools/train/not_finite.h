// Finds where the numbers of a training step stop being finite.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/data/batch_source.h"
#include "tools/job/job.h"
#include "tools/train/stepper.h"

namespace graphrun {

struct NotFinite {
  std::string what;  // "'read.forward.q' (matmul): element [3, 17] is inf, where step() is 4"
  Location at;       // location of the node's equation
};

// The steps of a run since a checkpoint, with their learning rates; the last one failed.
struct StepsSince {
  std::string checkpoint;
  std::vector<double> rates;
};

// Repeats the steps, which reproduces their numbers, and examines every node of the last one in the graph as written, without
// passes. Nodes that were not finite in the previous step either are ignored, since that step succeeded. nullopt if everything
// is finite, or if `stop` returned true between two steps. From then on, only one thread computes, and `stepper` and `source`
// stay where they are: use it only at the end of a run. Throws UserError if the checkpoint cannot be read or memory runs out.
std::optional<NotFinite> find_not_finite(const StepsSince& steps, Stepper& stepper, BatchSource& source,
                                         const std::function<bool()>& stop);

// "loss inf, norm of the gradient nan"
std::string figures_text(const StepResult& result);

// An update whose figures are not finite, and the batch that completed it; all counted from 1.
struct BadUpdate {
  StepResult result;
  std::int64_t step = 0, epoch = 0, batch = 0;
};
// The error that ends the run: E0670 diverged (kDiverged), at the equation from find_not_finite, if it finds one.
UserError diverged(const BadUpdate& update, const StepsSince& steps, Stepper& stepper, BatchSource& source,
                   const LoadedJob& job, const std::function<bool()>& stop);

}  // namespace graphrun
