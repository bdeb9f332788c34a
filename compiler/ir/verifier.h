// Holds a graph to the invariants that compiler/ir/graph.h lists. Runs at the start and after every pass that changed
// something, so that a mistake is found where it was made. Linear in the size of the graph.
//
// Checked are: each value has one producer and a name of its own; definitions precede uses; operands, attributes and results
// are what the op's schema asks for, and the shape rule gives the results' types; a scan's operands, body and results fit each
// other; a variable's next value has its type, and parameters and slots have sizes that are numbers; bounds and lengths belong
// to INT32 inputs; symbols are not defined by themselves.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

// Throws InternalError that names graph, node, its place in the user's file and what does not hold, and ends "(after <stage>)".
void verify(const Graph& graph, std::string_view stage);

// What is wrong, "" if nothing. `graph_fault`: all but the nodes' own rules; is_root: variables are allowed, outputs have
// names. `node_fault`: one node of a graph without graph_fault, its regions taken for sound.
std::string graph_fault(const Graph& graph, bool is_root);
std::string node_fault(const Graph& graph, std::size_t node);
// The part of node_fault that looks at operands and attributes alone, before there are results.
std::string operand_fault(const Graph& graph, const Node& node);

}  // namespace graphrun::ir
