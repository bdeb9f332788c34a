// Sizes in the place of symbols, wherever a graph mentions them.
#pragma once

#include <map>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

using SizesBySymbol = std::map<Symbol, Dim>;

Shape substituted(Shape shape, const SizesBySymbol& by);
Attribute substituted(const Attribute& attribute, const SizesBySymbol& by);
// In the types of values and in the attributes of nodes, regions' included; in `below` of inputs and in defined symbols.
// Symbols that an input holds the lengths of must stay.
Graph substituted(Graph graph, const SizesBySymbol& by);

}  // namespace graphrun::ir
