// Checks indices on a device, where a kernel cannot throw: for .cu files. A kernel checks each index when it uses it
// (CheckedIndices). check_device_indices checks all of them, for a kernel that has no elements to compute and so may read none.
#pragma once

#include <string>

#include "ops/indices.h"
#include "runtime/cuda/launch.h"

namespace graphrun::cuda {

// The indices of an operand. In place of an index out of range, a kernel uses the nearest one in range, and it records a fault,
// which is reported as check_indices would: always the operand's first bad index, no matter which thread finds one.
struct CheckedIndices {
  const std::int32_t* data = nullptr;
  IndexFault* fault = nullptr;  // null: faults are not recorded
  std::int32_t node = 0;

  // The index at `place`, which must be in [0, bound).
  GRAPHRUN_DEVICE std::int64_t at(std::int64_t place, std::int64_t bound) const {
    if (is_bad(place, bound)) record(place, bound);
    return clamped(data[place], bound);
  }
  GRAPHRUN_DEVICE bool is_bad(std::int64_t place, std::int64_t bound) const { return data[place] < 0 || data[place] >= bound; }
  // Records the first bad index; that at `place` is bad.
  GRAPHRUN_DEVICE void record(std::int64_t place, std::int64_t bound) const {
    // A fault that is already recorded stays: it is an earlier kernel's, or the same one, recorded by another thread.
    if (fault == nullptr || *static_cast<const volatile std::int32_t*>(&fault->node) != 0) return;
    std::int64_t first = 0;
    while (first < place && !is_bad(first, bound)) ++first;
    if (!exchange_if(&fault->node, 0, node)) return;
    fault->index = data[first];
    fault->position = first;
  }
};

inline CheckedIndices checked_indices(const KernelContext& c, const TensorView& indices) {
  return {indices.as<std::int32_t>(), c.fault, c.node};
}

GRAPHRUN_GLOBAL void check_indices_kernel(CheckedIndices indices, std::int64_t count, std::int64_t bound) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) indices.at(i, bound);
}

// Records the first index outside [0, bound).
inline void check_device_indices(const KernelContext& c, const TensorView& indices, std::int64_t bound) {
  const std::int64_t count = indices.count();
  if (c.fault == nullptr || count == 0) return;
  launch(c.stream, {1, kBlockThreads, 0, false}, &check_indices_kernel, checked_indices(c, indices), count, bound);
}

// The Kernel::refuse function of a kernel that checks its operand `indices` this way: throws the error of check_indices.
inline auto refusal(const TensorView& indices, std::int64_t bound, const char* what) {
  return [sizes = indices.sizes, bound, what](const IndexFault& fault) {
    refuse_index(sizes, fault.position, fault.index, bound, what);
  };
}

}  // namespace graphrun::cuda
