// Histories for all steps at once. history(x) in a loop is a state that gathers x, row by row. Where such states are the only
// ones, nothing recurs: the loop becomes several without any state, one behind the other, and in the place of a history stands
// the whole sequence of its rows, made by a loop before. What the sequence has beyond the present step, a history has not: this
// is done only where everything that runs along that axis stops at the present step by its `lengths`.
//
// A new loop begins behind a history, and with each product of what can't be kept for all steps (an attention's answer): hoist
// then takes these products out of their loops, and a masked attention over all steps is what is left there. So a decoder that
// is written as one step trains over all of them at once.
//
// Must run before differentiation, where there is one: derivatives of such loops have states. Generation goes step by step and
// is cut out of the graph without it.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult parallelize_history(ir::Graph graph);

}  // namespace graphrun
