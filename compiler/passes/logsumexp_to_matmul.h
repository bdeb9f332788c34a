// A logsumexp of a sum in which one term lacks the axis that remains and another is one matrix for all rows is a matrix
// product:
//   log Σ_j exp(x[b, j] + T[j, k])  =  m_b + c_k + log Σ_j exp(x[b, j] - m_b) exp(T[j, k] - c_k)
// with m and c near the maxima of x and T over j. It needs b·j + j·k exponentials instead of b·j·k, and no tensor of three
// axes. If T is the same at every step of a loop (a CRF's transitions), so are its exponentials. Terms without the axis j are
// added afterwards.
//
// m and c are whole numbers, so no gradient flows through them. A result further than 85 below m + c is replaced by that bound:
// a path with probability exp(-85) has no effect beside any other, but the logarithm of 0 would.
//
// Must run before hoist_invariants, which moves T's exponentials out of loops, and before differentiation, because the
// derivatives of a product are products.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult logsumexp_to_matmul(ir::Graph graph);

}  // namespace graphrun
