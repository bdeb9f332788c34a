// Hoisting out of scans: what does not depend on a state is computed before the loop, for all steps at once, and what no
// state needs after it.
//  - before: nodes that are the same at every step; products, reductions and look-ups of sequences, with what they read (input
//    products become one product over all steps);
//  - after: nodes behind which no state lies, from the first product on (output layers, softmax, losses, gradients by inputs).
//    The loop then hands out what they read, once for every step.
// What would grow with two sizes of the batch (attention over a sequence, at every step) stays.
// Pointwise work between states stays in the loop. A scan without states dissolves as far as its ops work over sequences.
// Inner scans come first, so that what leaves them can leave the outer one too. An op leaves by its own sequence rule
// (compiler/ir/sequence.h); one without stays. Draws of random numbers are the same numbers inside and outside.
//
// Must run after: sink, which frees products from the states that sum them. Leaves what nobody reads any more to dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult hoist(ir::Graph graph);

// Only what is the same at every step (the keys of an attention, the transpose of a table). Runs before differentiation: such a
// value's gradient is then taken once, of a sum over the steps, and the loop keeps no copy of it for each. What a step only
// repeats (broadcast_to) stays there: its gradient is a sum already, which sink takes over all steps at once.
PassResult hoist_invariants(ir::Graph graph);

}  // namespace graphrun
