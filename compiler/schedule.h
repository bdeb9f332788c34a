// The order in which a region's nodes run. Follows the last pass that rewrites the graph and precedes the memory plan, which
// keeps the order.
#pragma once

#include "compiler/ir/graph.h"

namespace graphrun {

// The graph with its nodes, and those of every region, in the order in which they will run:
//  - definitions precede uses;
//  - the node that computes the next value of a variable or state runs after all other readers of the old value, if the graph
//    allows it, so that it may overwrite the old value;
//  - nodes that depend only on inputs and variables (constants, zeros) run just before their first reader, which shortens the
//    lifetime of the result and lengthens no other;
//  - an optimizer's update runs as soon as its gradient exists, so that the gradient can be freed;
//  - independent loops of the root with the same number of steps (both directions of a bidirectional layer) become adjacent if
//    few nodes are between them, so that they can run at the same time;
//  - all other nodes keep their order.
// n log n, without recursion over nodes.
ir::Graph schedule(ir::Graph graph);

}  // namespace graphrun
