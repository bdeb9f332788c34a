// Which sizes a graph mentions that nothing which is fed tells.
#pragma once

#include <set>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

// The symbols of values, attributes and bounds, regions' included, that follow from no shape of an input: a run could not bind
// them (runtime/execute/feeds.h).
std::set<Symbol> unknown_sizes(const Graph& graph);

// Whether an axis of this shape is the symbol and nothing else.
bool tells_size(const Shape& shape, Symbol symbol);

}  // namespace graphrun::ir
