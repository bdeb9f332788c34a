// Checks indices on a device, where a kernel cannot throw: for .cu files.
#pragma once

#include <string>

#include "ops/indices.h"
#include "runtime/cuda/launch.h"

namespace graphrun::cuda {

// One block checks all indices; each thread remembers the first bad one that it finds, and the smallest position is recorded.
GRAPHRUN_GLOBAL void find_bad_index(const std::int32_t* indices, std::int64_t count, std::int64_t bound, std::int32_t node,
                                    IndexFault* fault) {
  auto* first = static_cast<std::int64_t*>(shared_memory());
  const int t = thread_index();
  first[t] = count;
  for (std::int64_t i = t; i < count; i += thread_count()) {
    if ((indices[i] < 0 || indices[i] >= bound) && first[t] == count) first[t] = i;
  }
  for (int half = thread_count() / 2; half > 0; half /= 2) {
    barrier();
    if (t < half && first[t + half] < first[t]) first[t] = first[t + half];
  }
  // Kernels of a stream run one after the other: an earlier fault is not overwritten.
  if (t == 0 && first[0] < count && fault->node == 0) {
    fault->index = indices[first[0]];
    fault->position = first[0];
    fault->node = node;
  }
}

// Records the first index outside [0, bound), to be reported as check_indices would. Kernels clamp the indices they read.
inline void check_device_indices(const KernelContext& c, const TensorView& indices, std::int64_t bound) {
  const std::int64_t count = indices.count();
  if (c.fault == nullptr || count == 0) return;
  launch(c.stream, {1, kBlockThreads, kBlockThreads * sizeof(std::int64_t), true}, &find_bad_index,
         static_cast<const std::int32_t*>(indices.as<std::int32_t>()), count, bound, c.node, c.fault);
}

// The Kernel::refuse function of a kernel that checks its operand `indices` this way: throws the error of check_indices.
inline auto refusal(const TensorView& indices, std::int64_t bound, const char* what) {
  return [sizes = indices.sizes, bound, what](const IndexFault& fault) {
    refuse_index(sizes, fault.position, fault.index, bound, what);
  };
}

}  // namespace graphrun::cuda
