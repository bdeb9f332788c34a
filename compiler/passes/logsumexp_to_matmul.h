// A logsumexp of a sum of which one part lacks the axis that stays and another is one matrix for all rows is a matrix product:
//   log Σ_j exp(x[b, j] + T[j, k])  =  m_b + c_k + log Σ_j exp(x[b, j] - m_b) exp(T[j, k] - c_k)
// with m and c near the maxima of x and T over j. It takes b·j + j·k exponentials in the place of b·j·k, and no tensor of three
// axes; where T is the same at every step of a loop (a CRF's transitions), so are its exponentials. Terms without the axis j
// are added afterwards.
//
// m and c are whole numbers, so that nothing of the gradient flows through them. What lies further than 85 below m + c is taken
// for that far below: a path that unlikely, exp(-85), counts for nothing beside any that is not, and a logarithm of 0 would.
//
// Must run before hoist_invariants, which takes T's exponentials out of loops, and before differentiation, whose derivatives of
// a product are products.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult logsumexp_to_matmul(ir::Graph graph);

}  // namespace graphrun
