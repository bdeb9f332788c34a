// A longest common subsequence of two sequences, in memory proportional to their lengths, not to the product of the lengths.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace graphrun {

// By element of `a`: whether it is in the subsequence. If there are several, the one that a walk from both beginnings finds: it
// takes equal elements together; otherwise it advances in `a` if that loses nothing, else in `b`.
std::vector<bool> common_subsequence(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace graphrun
