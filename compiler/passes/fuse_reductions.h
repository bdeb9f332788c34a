// Fusion of reductions with pointwise work: they become one node `fused_reduction`, whose kernel reduces the values as it
// computes them, so that no tensor of their shape is stored. This applies if all results of one pointwise node, single or
// fused, are read by reductions only (sum, mean, max, min, logsumexp, argmax, argmin, sum_to; without lengths), all along the
// same axes.
//
// Must run after: fuse. It takes whole groups.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult fuse_reductions(ir::Graph graph);

}  // namespace graphrun
