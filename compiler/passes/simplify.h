// Simplification by local rules, in one walk over the nodes in order, including the bodies of scans:
//  - arithmetic: x + 0, x - 0, x * 1, x / 1, x ** 1, sums with zeros, double negation, sums with a negative, selections
//    between equal operands or by a known condition, logic with a constant, casts to the same type, chains of casts, dropout
//    with rate 0;
//  - shapes: chains of transpose, reshape, expand, broadcast_to, sum_to, slice, index; an index or slice of a stack or a
//    concatenation that selects one operand; changes to the same shape; shape changes of zeros;
//  - products: a transpose of the last two axes of a matmul's factor becomes a flag;
//  - scans: a state that never changes ends as it began; the stack of a sequence's own slices is the sequence.
// No rule loses precision, but x + 0 may turn -0 into 0. A rule that would change the type of a result does not apply.
//
// Must run after: fold_constants, which computes the constants that the rules look for. Leaves values without readers to
// dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult simplify(ir::Graph graph);

}  // namespace graphrun
