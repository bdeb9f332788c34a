// Fusion of reductions with pointwise work: they become one node `fused_reduction`, whose kernel reduces the values as it
// computes them, so that no tensor of their shape is stored. This applies if all results of one pointwise node, single or
// fused, are read by reductions only (sum, mean, max, min, logsumexp, argmax, argmin, sum_to), all along the same axes and up
// to the same lengths. Reductions with lengths need an axis after them: see fusible_reduction.
//
// Must run after: fuse. It takes whole groups.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult fuse_reductions(ir::Graph graph);

}  // namespace graphrun
