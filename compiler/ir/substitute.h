// Replaces symbols by sizes everywhere in a graph.
#pragma once

#include <map>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

using SizesBySymbol = std::map<Symbol, Dim>;

Shape substituted(Shape shape, const SizesBySymbol& by);
Attribute substituted(const Attribute& attribute, const SizesBySymbol& by);
// Replaces them in the types of values and the attributes of nodes, including those in regions; in `below` of inputs and in
// defined symbols. Symbols whose lengths an input holds must not be replaced.
Graph substituted(Graph graph, const SizesBySymbol& by);

}  // namespace graphrun::ir
