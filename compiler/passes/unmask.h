// Takes selections of whole rows off logits, where the loss and its gradient alone read them:
//   cross_entropy(where(m, x, c), t)                        where(m, cross_entropy(x, t), log n)
//   where(m, cross_entropy_gradient(x, t, y, g), 0)         cross_entropy_gradient(x, t, y, where(m, g, 0))
// with m the same for a row's n classes and c a number of usual size: a row of equal logits has the loss log n, smoothed or
// not, and rows whose g is 0 give 0. What a loop makes where a sequence is over is masked so, and behind hoist the logits of
// all steps, the largest tensor of many a network, would be read and written twice more.
//
// Must run after: hoist; common_subexpressions, by which a mask is one value; dead_code, whose readers would count.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult unmask(ir::Graph graph);

}  // namespace graphrun
