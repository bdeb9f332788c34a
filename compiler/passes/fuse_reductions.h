// Fusion at the edge: reductions of pointwise work become one node `fused_reduction` with it, whose kernel reduces the work as
// it is made: nothing of its shape lies in memory. Where all results of one pointwise node, single or fused, are read by
// reductions alone, along the same axes (sum, mean, max, min, logsumexp, argmax, argmin, sum_to; without lengths), they become
// one; what else reads the work keeps both apart.
//
// Must run after: fuse, whose groups it takes whole.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult fuse_reductions(ir::Graph graph);

}  // namespace graphrun
