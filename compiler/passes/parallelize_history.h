// Divides loops into several, so that as much as possible is computed for all steps at once.
//
// history(x) in a loop is a state that gathers x, row by row. Another state may recur without products, histories and nested
// loops: nothing that it depends on and that depends on it is one of these. In an SSRU, for example, c = f * c + (1 - f) * (x @
// W). If all states of a loop are of these two kinds, the loop is divided into several loops, one after the other. The whole
// sequence of rows, which an earlier loop computes, replaces each history. The sequence, unlike a history, has rows after the
// current step. Therefore this is done only if every op along that axis stops at the current step by its `lengths`. A loop
// with histories that runs in reverse stays whole: a step would read rows that it does not have yet.
//
// A new loop begins after each history, with each product of values that cannot be kept for all steps (an attention's result),
// and with each product, or reduction that keeps its operand's shape, of what a recurrence computes. hoist then moves these out
// of their loops, which leaves masked attention over all steps and elementwise recurrences. Thus a decoder that is written as
// one step trains on all steps at once.
//
// A loop with any other recurrence stays whole, and so does one in which a new loop would have to save a value that is too
// large for another.
//
// Must run before differentiation, since derivatives of such loops have states. Generation runs step by step and does not use
// this pass.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult parallelize_history(ir::Graph graph);

}  // namespace graphrun
