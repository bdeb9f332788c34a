// A longest common subsequence of two sequences, in memory that grows with their lengths and not with the product of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace graphrun {

// Which elements of `a` are in one. Of several the one that a walk from both beginnings finds: equal elements go together, else
// `a` moves on where that costs nothing, else `b`.
std::vector<bool> common_subsequence(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace graphrun
