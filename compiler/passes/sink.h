// Sinking sums out of scans: a state that only adds up what each step computes (sum := sum + v, such as the gradient of a
// parameter in a backward loop) disappears, and the sum over all steps is computed once, after the loop: Σₜ Aₜᵀ Bₜ is one
// product of the stacked sequences, a sum of bias gradients one sum, the gradient of a table one scatter_add. The loop returns
// their operands.
//
// A term is moved if its op sums over leading axes by itself (OpSchema::sums) and each of its operands is available outside or
// has at most one size that grows with the batch; other terms stay in the state. If a reduction reads pointwise work over axes
// that none of the work's operands has all of (a CRF's transitions), the loop returns those operands, and the work is
// recomputed after the loop, where it is fused with the reduction. Results change in the last bits, because the order of the
// sum changes.
//
// Must run after: common_subexpressions. Removes what only the sums needed. Leaves a state that no longer changes to simplify.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult sink(ir::Graph graph);

}  // namespace graphrun
