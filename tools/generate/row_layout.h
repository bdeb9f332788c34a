// Which hypothesis each row of a step computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace graphrun {

// Reassigns the rows of the last step to the places of the next (search_names) so that few states move: the best continuation
// of each hypothesis takes its row. `places`: by row, for the last step; places s·beam to s·beam + beam - 1 are those of
// sentence s, best first. `parents`: by place of the next step, the row of its parent; any number for a place without a
// hypothesis. Returns the places by row for the next step. They are the same places, and each row keeps its sentence.
std::vector<std::int64_t> rows_beside_parents(const std::vector<std::int64_t>& places, std::span<const std::int32_t> parents,
                                              std::int64_t beam);

}  // namespace graphrun
