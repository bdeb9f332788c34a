// Hoisting out of scans: what does not depend on a state is computed before the loop, for all steps at once; what no state
// depends on is computed after it.
//  - before: nodes that are the same at every step; products, reductions and look-ups of sequences, with their operands (input
//    products become one product over all steps);
//  - after: nodes that no state depends on, from the first product on (output layers, softmax, losses, gradients of inputs).
//    The loop then returns their operands, for every step.
// Values that would grow with two sizes of the batch (attention over a sequence, at every step) stay, and so does pointwise
// work between states. A scan without states dissolves as far as its ops work over sequences. Inner scans come first, so that
// what leaves them can leave the outer one too. An op leaves by its own sequence rule (compiler/ir/sequence.h); one without a
// rule stays. Random draws give the same numbers inside and outside. If anything left a loop,
// all pointwise ops read operands before a broadcast where they can, as in simplify.
//
// Must run after: sink, which frees products from the states that sum them. Leaves values without readers to dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult hoist(ir::Graph graph);

// Only what is the same at every step (the keys of an attention, the transpose of a table). Runs before differentiation: the
// gradient of such a value is then computed once, from a sum over the steps, and the loop saves no copy of it for each step. A
// broadcast_to stays in the loop: its gradient is a sum, which sink computes over all steps at once.
PassResult hoist_invariants(ir::Graph graph);

}  // namespace graphrun
