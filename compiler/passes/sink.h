// Sinking sums out of scans: a state that only adds up what each step computes (sum := sum + v, as the gradient of a parameter
// does in a backward loop) goes, and the sum over all steps is computed once, behind the loop: Σₜ Aₜᵀ Bₜ is one product of the
// stacked sequences, Σₜ of a bias' gradients one sum, a table's gradient one scatter_add. The loop hands out what they read.
//
// A term goes where its op sums over leading axes by itself (OpSchema::sums) and what it reads is outside anyway or has at most
// one size that grows with the batch; other terms stay in the state. Where a reduction reads pointwise work over axes that none
// of its own operands has all of (a CRF's transitions), the loop returns those operands, and the work is recomputed after the
// loop, where it is fused with the reduction. Results change in the last bits, since the order of the sum does.
//
// Must run after: common_subexpressions. Leaves a state that no longer changes to simplify and dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult sink(ir::Graph graph);

}  // namespace graphrun
