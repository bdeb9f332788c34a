// Moves selections of whole rows from logits to the loss and its gradient, if only these read the logits:
//   cross_entropy(where(m, x, c), t)                        where(m, cross_entropy(x, t), log n)
//   where(m, cross_entropy_gradient(x, t, y, g), 0)         cross_entropy_gradient(x, t, y, where(m, g, 0))
// with m the same for all n classes of a row and c a number of ordinary size: a row of equal logits has the loss log n,
// smoothed or not, and rows whose g is 0 have the gradient 0. The steps after the end of a sequence are masked in this way.
// Without this pass, after hoist, the logits of all steps, often the largest tensor of a network, would be read and written
// twice more.
//
// Must run after: hoist; common_subexpressions, which makes equal masks one value; dead_code, since dead readers would count.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult unmask(ir::Graph graph);

}  // namespace graphrun
