// Finds the sizes in a graph that no input determines.
#pragma once

#include <set>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

// The symbols of values, attributes and bounds, including those in regions, that do not follow from the shape of any input: a
// run could not bind them (runtime/execute/feeds.h).
std::set<Symbol> unknown_sizes(const Graph& graph);

// Whether an axis of this shape is exactly the symbol.
bool tells_size(const Shape& shape, Symbol symbol);

}  // namespace graphrun::ir
