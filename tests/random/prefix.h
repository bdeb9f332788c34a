// Finds the values of a graph whose first positions along a size do not change when positions are added after them: rows of a
// batch with more rows, or steps followed by more padding.
#pragma once

#include <set>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun::random_graphs {

// By value of the root: true if every element at positions below n along `size` is the same for all sizes of at least n, as far
// as the ops' definitions alone determine; may be false for a value that is the same. A value without the size must be the same
// as a whole. `lengths`: inputs whose elements are at most n.
std::vector<bool> same_prefix(const ir::Graph& graph, Symbol size, const std::set<ir::ValueId>& lengths);

// The same, and in addition no position reads another one, not even an earlier one.
std::vector<bool> positions_apart(const ir::Graph& graph, Symbol size);

}  // namespace graphrun::random_graphs
