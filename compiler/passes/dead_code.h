// Dead code: drops the nodes that no output and no variable's next value needs. It looks through scans: a body's outputs that
// nobody reads go, with what only they need; so do states that only they themselves read, sequences, and operands. An op that
// updates a variable is never dead.
//
// Must run after: every pass that leaves values without a reader behind (all of them do), so last.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult dead_code(ir::Graph graph);

// The same, for a graph that nobody has feeds or buffers for yet: root inputs and variables that no output needs go too; a
// variable's next value counts where the variable is needed. An input stays where what is left mentions a size that no other
// input tells.
ir::Graph drop_unneeded(ir::Graph graph);

}  // namespace graphrun
