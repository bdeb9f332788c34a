// Simplification by local rules, in one walk from top to bottom, scans' bodies included:
//  - arithmetic: x + 0, x - 0, x * 1, x / 1, x ** 1, adding zeros, double negation, sums with a negative, selections whose
//  branches
//    are equal or whose condition is known, logic with a constant, casts to the same type and chains of casts, dropout of rate
//    0;
//  - shapes: chains of transpose, reshape, expand, broadcast_to, sum_to, slice, index; the member that an index or slice of a
//  stack
//    or concatenation picks; changes to the same shape; shape changes of zeros;
//  - products: a transpose of the last two axes of a matmul's factor becomes its flag;
//  - scans: a state that never changes ends as it began; the stack of a sequence's own slices is the sequence.
// No rule loses precision; x + 0 may turn -0 into 0. A rule that would change a result's type does not fire.
//
// Must run after: fold_constants, which makes the constants that the rules look for. Leaves what nobody reads any more to
// dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult simplify(ir::Graph graph);

}  // namespace graphrun
