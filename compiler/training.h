// The training step as a graph: gradients, then their norm, then clipping, then the optimizer's updates, each a stage of its
// own in this order.
#pragma once

#include "compiler/compile.h"
#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"

namespace graphrun {

// `graph` with the gradients of `options.minimize` by every trainable parameter, their global norm as an output, and each
// parameter's next value; what the optimizer's op wants beside parameter, gradient, rate and count are slots, variables named
// PARAMETER.OPTIMIZER_SLOT: "encode.W.adam_m". The learning rate and, where something counts, the number of the update are
// inputs (kLearningRate, kUpdateCount); the factor of a parameter's rate is a constant of the graph. A parameter that the loss
// does not depend on stays as it is. In parts: the gradients' sums go to slots, or come from them. Throws UserError
// (kInvalidGraph, E0401) where `minimize` is no FLOAT scalar output or depends on no parameter, or `per` is no scalar output.
ir::Graph add_training(ir::Graph graph, const TrainOptions& options, const TapeOptions& tape = {});

}  // namespace graphrun
