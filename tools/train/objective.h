// A network as its training sees it: what is minimized, and which parameters that reaches.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "tools/train/recipe.h"

namespace graphrun {

// `graph` with outputs for the recipe's `minimize` and `per`, its frozen parameters not trainable; `options` names the outputs
// the parameters without decay and those with a learning rate of their own. A pattern that no parameter matches is a warning
// (E0422). Throws UserError (kInvalidGraph, E0401 bad-objective) for an expression that is none over the graph.
ir::Graph with_objective(ir::Graph graph, const Recipe& recipe, TrainOptions& options, std::vector<Diagnostic>& warnings);

}  // namespace graphrun
