// The same rows beside more rows, the same steps before more padding.
#pragma once

#include <string>

#include "tests/random/runs.h"

namespace graphrun::random_graphs {

struct BesideMore {
  std::string differs;  // empty: nothing does
  std::string refused;  // at run time
  int compared = 0;     // outputs and states that must not change
};

// Runs the graph at two numbers of positions along `size`, those that both have the same; `fewer` and `more` draw like data.
BesideMore beside_more(const ir::Graph& graph, Symbol size, std::int64_t few, const Data& fewer, const Data& more);

}  // namespace graphrun::random_graphs
