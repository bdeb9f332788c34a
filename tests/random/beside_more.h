// Checks that rows do not change when the batch has more rows, nor steps when there is more padding after them.
#pragma once

#include <string>

#include "tests/random/runs.h"

namespace graphrun::random_graphs {

struct BesideMore {
  std::string differs;  // empty if nothing differs
  std::string refused;  // at run time
  int compared = 0;     // outputs and states that must not change
};

// Runs the graph with `few` and with more positions along `size`; those that both have must agree. `fewer` and `more` draw the
// data of the two runs.
BesideMore beside_more(const ir::Graph& graph, Symbol size, std::int64_t few, const Data& fewer, const Data& more);

}  // namespace graphrun::random_graphs
