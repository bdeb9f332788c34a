// Dead code: drops the nodes that no output and no variable's next value needs. This includes the inside of scans: outputs of a
// body that nothing reads, with what only they need, states that only their own next value reads, unread sequences, and unread
// operands. An op that updates a variable is never dead.
//
// Must run last: almost every pass leaves values without readers.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult dead_code(ir::Graph graph);

// The same, for a graph that is not yet bound to feeds or buffers: also drops root inputs and variables that no output needs.
// The next value of a variable counts only if the variable is needed. An input stays if the remaining graph mentions a size
// that no other input determines.
ir::Graph drop_unneeded(ir::Graph graph);

}  // namespace graphrun
