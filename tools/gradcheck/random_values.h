// Values for a graph without data: sizes for its symbols, feeds within their bounds, parameters. They are a pure function of
// the seed and the names.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/ir/graph.h"
#include "runtime/execute/executable.h"
#include "runtime/program/program.h"

namespace graphrun {

// Gives every symbol in inputs and variables a small size. The sizes are distinct if possible; those in `given` are used
// unchanged. Throws UserError (kUsage, E0509) for a given symbol that the graph does not have.
SymbolValues small_sizes(const ir::Graph& graph, const std::map<std::string, std::int64_t>& given);

// FLOAT (as float64): uniform in [-0.5, 0.5). Lengths: from 1 to the size, with a full first row. Other integers: below their
// bound, or below 3.
Tensor random_feed(const FeedSpec& feed, const SymbolValues& sizes, std::uint64_t seed);
Feeds random_feeds(const Program& program, const SymbolValues& sizes, std::uint64_t seed);

// FLOAT: uniform in [-0.5, 0.5), or around a constant that the graph declares, within half of its magnitude if that is below 1.
// Other types: zero.
Tensor random_variable(const VariableSpec& variable, const SymbolValues& sizes, std::uint64_t seed);

}  // namespace graphrun
