// Histories for all steps at once. history(x) in a loop is a state that gathers x, row by row. If such states are the only
// ones, nothing recurs: the loop is divided into several loops without states, one after the other, and the whole sequence of
// rows, which an earlier loop computes, replaces each history. The sequence, unlike a history, has rows after the current step.
// Therefore this is done only if every op along that axis stops at the current step by its `lengths`.
//
// A new loop begins after each history, and after each product of values that cannot be kept for all steps (an attention's
// result). hoist then moves these products out of their loops, which leaves masked attention over all steps. Thus a decoder
// that is written as one step trains on all steps at once.
//
// Must run before differentiation, since derivatives of such loops have states. Generation runs step by step and does not use
// this pass.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult parallelize_history(ir::Graph graph);

}  // namespace graphrun
