// How many elements have to be replaced, taken out or put in to make one sequence another (Levenshtein).
#pragma once

#include <cstdint>
#include <span>

namespace graphrun {

// In memory that grows with the sequences' lengths; 64 elements of one are compared with an element of the other at once.
std::int64_t edit_distance(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace graphrun
