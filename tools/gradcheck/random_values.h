// Numbers for a graph that nobody has data for: sizes for its symbols, feeds within their bounds, parameters. All a pure
// function of the seed and the names.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/ir/graph.h"
#include "runtime/execute/executable.h"
#include "runtime/program/program.h"

namespace graphrun {

// Gives every symbol that inputs and variables name a small size, distinct from the others as long as they last, `given` ones
// as they are. Throws UserError (kUsage, E0509) for a given one that the graph does not have.
SymbolValues small_sizes(const ir::Graph& graph, const std::map<std::string, std::int64_t>& given);

// FLOAT: uniform in [-0.5, 0.5). Lengths: from 1 to the size, the first row full. Other integers: below their bound, or
// below 3. FLOAT as float64.
Tensor random_feed(const FeedSpec& feed, const SymbolValues& sizes, std::uint64_t seed);
Feeds random_feeds(const Program& program, const SymbolValues& sizes, std::uint64_t seed);

// FLOAT: uniform in [-0.5, 0.5), around a constant that the graph declares for it, within half of what that is where it is
// below 1; others zero.
Tensor random_variable(const VariableSpec& variable, const SymbolValues& sizes, std::uint64_t seed);

}  // namespace graphrun
