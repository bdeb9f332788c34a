// Prepares a network for training: the objective, and the parameters that are trained.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "tools/train/recipe.h"

namespace graphrun {

// Returns `graph` with outputs for the recipe's `minimize` and `per`, and with its frozen parameters not trainable. Sets these
// outputs, the parameters without decay and those with their own learning rate in `options`. A pattern that no parameter
// matches gives a warning (E0422). Throws UserError (kInvalidGraph, E0401 bad-objective) for an invalid expression.
ir::Graph with_objective(ir::Graph graph, const Recipe& recipe, TrainOptions& options, std::vector<Diagnostic>& warnings);

}  // namespace graphrun
