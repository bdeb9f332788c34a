// Rounding of sizes.
#pragma once

#include <cstdint>

namespace graphrun {

// The smallest multiple of `to` that is at least `n`; n >= 0, to > 0.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

}  // namespace graphrun
