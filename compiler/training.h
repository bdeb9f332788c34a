// The training step as a graph: gradients, then their norm, then clipping, then the optimizer's updates, each a stage of its
// own in this order.
#pragma once

#include "compiler/compile.h"
#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"

namespace graphrun {

// `graph` with the gradients of `options.minimize` by every trainable parameter, their global norm as an output, and each
// parameter's next value; optimizer slots are variables named PARAMETER.adam_m and PARAMETER.adam_v. The learning rate and, for
// Adam, the number of the update are inputs (kLearningRate, kUpdateCount). A parameter that the loss does not depend on stays
// as it is. `tape`: as differentiate. Throws UserError (kInvalidGraph, E0401) where `minimize` is no FLOAT scalar output or
// depends on no parameter.
ir::Graph add_training(ir::Graph graph, const TrainOptions& options, std::vector<TapeDecision>* tape = nullptr);

}  // namespace graphrun
