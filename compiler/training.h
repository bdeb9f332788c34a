// The training step as a graph: gradients, their norm, clipping and the optimizer's updates, as separate stages in this order.
#pragma once

#include "compiler/compile.h"
#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"

namespace graphrun {

// `graph` with the gradients of `options.minimize` with respect to every trainable parameter, their global norm as an output,
// and the next value of each parameter. Operands of the optimizer's op other than parameter, gradient, rate and count are
// slots: variables named PARAMETER.OPTIMIZER_SLOT, "encode.W.adam_m". The learning rate and, if the optimizer counts updates,
// the number of the update are inputs (kLearningRate, kUpdateCount); the factor of a parameter's rate is a constant of the
// graph. A parameter that the loss does not depend on does not change. If the step is divided (TrainOptions::part), sums of
// gradients are written to slots or read from them. Throws UserError (kInvalidGraph, E0401) if `minimize` is not a FLOAT scalar
// output or depends on no parameter, or if `per` is not a scalar output.
ir::Graph add_training(ir::Graph graph, const TrainOptions& options, const TapeOptions& tape = {});

}  // namespace graphrun
