// States that only delay: in a loop, `state { name: "y_" next: "y" }` with a y that depends on no state is the y of the
// previous step. The sequence of y, shifted by a step, replaces the state. Readers of the state can then leave the loop (a
// product of the previous words, the score of a given path), and a loop without another state dissolves.
//
// After the end of a row's sequence the state stays as it is: the front end has written where(step < lengths, y, y_). The
// replacement is then the sequence of y, continued with the y of the last step or, in reverse, with the state's initial value.
// Delays of delays are found too.
//
// Must run after: parallelize_history, which looks for its own kind of states. Before: hoist_invariants and hoist, which move
// what this pass frees.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult delay_to_shift(ir::Graph graph);

}  // namespace graphrun
