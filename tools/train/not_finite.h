// Where the numbers of a training step stop being finite.
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
  Location at;       // of the node's equation
};

// The batches that a run took since a checkpoint, by their learning rates; the last is the one that went wrong.
struct StepsSince {
  std::string checkpoint;
  std::vector<double> rates;
};

// Takes the steps once more, which gives the same numbers, and looks at every node of the last one as the graph has it, without
// what passes make of it. Nodes that were not finite in the step before either are passed over: that one ended well. Nothing
// where all is finite, or where `stop` said so between two steps. Runs on one thread from there on and leaves `stepper` and
// `source` where they are: for a run that ends. Throws UserError where the checkpoint can't be read or memory is out.
std::optional<NotFinite> find_not_finite(const StepsSince& steps, Stepper& stepper, BatchSource& source,
                                         const std::function<bool()>& stop);

// "loss inf, norm of the gradient nan"
std::string figures_text(const StepResult& result);

// An update whose figures are not finite, and the batch that completed it; all from 1.
struct BadUpdate {
  StepResult result;
  std::int64_t step = 0, epoch = 0, batch = 0;
};
// What ends a run of it: E0670 diverged (kDiverged), at the equation that find_not_finite names where it can.
UserError diverged(const BadUpdate& update, const StepsSince& steps, Stepper& stepper, BatchSource& source,
                   const LoadedJob& job, const std::function<bool()>& stop);

}  // namespace graphrun
