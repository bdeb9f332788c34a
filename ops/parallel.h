// Threads for kernels. Work is split over elements of the results only, never over a summed axis, so that results are
// bit-identical for every number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/threads/threads.h"

namespace graphrun {

// Below this many elements of work, about 10 microseconds, a parallel region costs more than it gains: waking a sleeping thread
// takes longer.
inline constexpr std::int64_t kParallelWork = 32 * 1024;

// Calls body(begin, end) for ranges that partition [0, count), concurrently if `work` (the total number of elements accessed)
// is large.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t work, const Body& body) {
  if (count <= 0) return;
  const std::int64_t each = std::max<std::int64_t>(1, work / count);
  parallel_ranges(count, std::max<std::int64_t>(1, kParallelWork / each), body);
}

}  // namespace graphrun
