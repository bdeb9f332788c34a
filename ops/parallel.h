// Threads for kernels. Work is split over elements of results alone, never over what is summed, so that results have the same
// bits for every number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/threads/threads.h"

namespace graphrun {

// Below this many elements of work, some 10 microseconds, a region of threads costs more than it gains: one that sleeps takes
// longer to wake.
inline constexpr std::int64_t kParallelWork = 32 * 1024;

// Calls body(begin, end) for ranges that make up [0, count), side by side where `work` (elements touched in all) is large.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t work, const Body& body) {
  if (count <= 0) return;
  const std::int64_t each = std::max<std::int64_t>(1, work / count);
  parallel_ranges(count, std::max<std::int64_t>(1, kParallelWork / each), body);
}

}  // namespace graphrun
