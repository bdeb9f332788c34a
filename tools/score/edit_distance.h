// The least number of replacements, deletions and insertions that turn one sequence into another (Levenshtein).
#pragma once

#include <cstdint>
#include <span>

namespace graphrun {

// Memory is linear in the lengths; 64 elements of one sequence are compared with an element of the other at once.
std::int64_t edit_distance(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace graphrun
