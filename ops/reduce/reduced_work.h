// The pointwise work of fused_reduction.
#pragma once

#include "runtime/program/kernel.h"

namespace graphrun {

// The request for the pointwise work alone: without the lengths, which are the last input.
inline KernelRequest request_of_work(const KernelRequest& request) {
  KernelRequest work = request;
  if (request.attributes->boolean("lengths")) work.inputs.pop_back();
  return work;
}

// The sizes of its results: all operands broadcast together.
inline Sizes sizes_of_work(const KernelRequest& work) {
  Sizes sizes;
  for (const TensorView& input : work.inputs) {
    if (input.sizes.size() > sizes.size()) sizes.insert(sizes.begin(), input.sizes.size() - sizes.size(), 1);
    for (std::size_t from_end = 1; from_end <= input.sizes.size(); ++from_end) {
      const std::int64_t size = input.sizes[input.sizes.size() - from_end];
      if (size != 1) sizes[sizes.size() - from_end] = size;
    }
  }
  return sizes;
}

}  // namespace graphrun
