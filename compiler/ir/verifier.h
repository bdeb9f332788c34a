// Checks the invariants listed in compiler/ir/graph.h. Runs at the start and after every pass that changed something, so that
// an error is found where it was introduced. Linear in the size of the graph.
//
// It checks that each value has one producer and a unique name; definitions precede uses; operands, attributes and results
// match the op's schema, and the shape rule gives the results' types; a scan's operands, body and results fit each other; a
// variable's next value has its type, and the sizes of parameters and slots are numbers; bounds and lengths belong to INT32
// inputs; symbols are not defined in terms of themselves.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

// Throws InternalError naming the graph, the node, its location in the user's file and the violated invariant, ending in
// "(after <stage>)".
void verify(const Graph& graph, std::string_view stage);

// Describes the first fault; "" if there is none. `graph_fault`: everything but the nodes' own rules; is_root: variables are
// allowed, outputs have names. `node_fault`: one node of a graph without a graph_fault, assuming that its regions are valid.
std::string graph_fault(const Graph& graph, bool is_root);
std::string node_fault(const Graph& graph, std::size_t node);
// The part of node_fault that checks only operands and attributes, before there are results.
std::string operand_fault(const Graph& graph, const Node& node);

}  // namespace graphrun::ir
