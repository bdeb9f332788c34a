// The order in which a region's nodes run. After the last pass that rewrites the graph; before the memory plan, which takes the
// order as it finds it.
#pragma once

#include "compiler/ir/graph.h"

namespace graphrun {

// The graph with its nodes, and those of every region, in the order in which they will run:
//  - definitions precede uses;
//  - what gives a variable or a scan's state its next value runs after everything else that reads the old value, wherever
//    the graph allows it, so that it may be written over the old one;
//  - what is made of nothing but inputs and variables (constants, zeros) runs just before its first user: that keeps nothing
//    alive for longer, and the result for less;
//  - an optimizer's update runs as soon as its gradient is there, which is then over;
//  - loops of the root with as many steps, none of which needs another (both directions of a bi-directional layer), stand side
//    by side where little lies between them: then they can run at the same time;
//  - all else in the order in which it stands.
// n log n, without recursion over nodes.
ir::Graph schedule(ir::Graph graph);

}  // namespace graphrun
