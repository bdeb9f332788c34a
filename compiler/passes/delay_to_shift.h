// States that only delay: in a loop, `state { name: "y_" next: "y" }` with a y that no state has a part in is y of the step
// before, so the sequence of y, shifted by a step, takes the state's place. What reads the state may then leave the loop (a
// product of the words before, the score of a given path), and a loop that has no other state dissolves.
//
// Where a row's sequence is over, the state stays as it is: the front end has written where(step < lengths, y, y_), which is
// the sequence y, and from the end on y of the last step, or, in reverse, what the state began with. Delays of delays are found
// as well.
//
// Must run after: parallelize_history, which looks for its own kind of states; before hoist_invariants and hoist, which move
// what is freed.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult delay_to_shift(ir::Graph graph);

}  // namespace graphrun
