// Loops taken apart where the step of one part needs nothing of the other's later steps.
//
// history(x) in a loop is a state that gathers x, row by row. Another state recurs by elementwise operations alone where no
// product is among what it depends on that depends on it: in an SSRU, c = f * c + (1 - f) * (x @ W). If all states of a loop
// are of these two kinds, the loop becomes several, one behind the other. A history is replaced by the whole sequence of its
// rows, which an earlier loop makes. The sequence continues beyond the present step, the history does not: so everything that
// runs along that axis must stop at the present step by its `lengths`.
//
// A new loop begins behind a history, with each product of what cannot be kept for all steps (an attention's answer), and with
// each product, or reduction that keeps its operand's shape, of what a recurrence makes. Hoist then moves these out of their
// loops. What is left is masked attention over all steps and elementwise recurrences. So a decoder that is written as one step
// trains over all steps at once.
//
// A loop with any other recurrence stays whole, and so does one that would have to keep for another what is too large for that.
//
// Must run before differentiation, where there is one: derivatives of such loops have states. Generation goes step by step and
// is cut out of the graph without it.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult parallelize_history(ir::Graph graph);

}  // namespace graphrun
