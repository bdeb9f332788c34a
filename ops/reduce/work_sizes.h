// The sizes of the pointwise results that fused_reduction reduces.
#pragma once

#include "runtime/program/kernel.h"

namespace graphrun {

// The sizes of all operands broadcast together.
inline Sizes sizes_of_work(const KernelRequest& request) {
  Sizes sizes;
  for (const TensorView& input : request.inputs) {
    if (input.sizes.size() > sizes.size()) sizes.insert(sizes.begin(), input.sizes.size() - sizes.size(), 1);
    for (std::size_t from_end = 1; from_end <= input.sizes.size(); ++from_end) {
      const std::int64_t size = input.sizes[input.sizes.size() - from_end];
      if (size != 1) sizes[sizes.size() - from_end] = size;
    }
  }
  return sizes;
}

}  // namespace graphrun
