// Which values of a graph do not change at their first positions along a size when there are more positions behind them: rows
// of a batch beside which others lie, steps behind which a longer batch is padded.
#pragma once

#include <set>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun::random_graphs {

// By value of the root: true where every element at positions below n along `size` is the same for all sizes of n or more, as
// far as the ops' meanings alone tell; false may be said of one that is the same. A value without the size is the same as a
// whole. `lengths`: inputs whose elements are at most n.
std::vector<bool> same_prefix(const ir::Graph& graph, Symbol size, const std::set<ir::ValueId>& lengths);

// The same where, beyond that, no position reads another one, not even one before it.
std::vector<bool> positions_apart(const ir::Graph& graph, Symbol size);

}  // namespace graphrun::random_graphs
