// Part of the memory plan: chains of values that overwrite each other, from the old value of a variable or state to its next
// value.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/readers.h"

namespace graphrun {

// (result, operand): the result may be written over the operand.
using InPlacePairs = std::vector<std::pair<int, int>>;

// The pairs of a node: those of its op; for a scan, those that its body allows (`scan_pairs`, by node).
InPlacePairs in_place_pairs(const ir::Node& node, std::int32_t index, const std::map<std::int32_t, InPlacePairs>& scan_pairs);

// An old value, which is stored in a slot, and the value that should be stored there at the end; `to` kNone: none.
struct ChainEnds {
  ir::ValueId from = ir::kNone, to = ir::kNone;
};

struct InPlaceChains {
  std::unordered_map<ir::ValueId, ir::ValueId> over;  // a result and the operand that it is written over
};

// The chains that lead from `from` to `to` through views and results in place, where each link is the last reader of what it
// overwrites. `last_use`, by value: the position of its last reader; the number of nodes if it is read at the end.
InPlaceChains find_in_place_chains(const ir::Graph& graph, const ir::Readers& readers,
                                   const std::vector<std::int32_t>& last_use,
                                   const std::map<std::int32_t, InPlacePairs>& scan_pairs, const std::vector<ChainEnds>& ends);

}  // namespace graphrun
