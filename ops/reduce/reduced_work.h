// The pointwise work of fused_reduction.
#pragma once

#include "ops/tiles/row_reads.h"

namespace graphrun {

// The pointwise work alone.
inline ProgramWork work_of_reduction(const KernelRequest& request) {
  return program_work(request, request.attributes->boolean("lengths"));
}

// The sizes of its results: all operands broadcast together.
inline Sizes sizes_of_work(const ProgramWork& work) {
  Sizes sizes;
  for (std::size_t k = 0; k < work.request.inputs.size(); ++k) {
    const Sizes own = work.rows.selected_sizes(k, work.request.inputs[k].sizes);
    if (own.size() > sizes.size()) sizes.insert(sizes.begin(), own.size() - sizes.size(), 1);
    for (std::size_t from_end = 1; from_end <= own.size(); ++from_end) {
      const std::int64_t size = own[own.size() - from_end];
      if (size != 1) sizes[sizes.size() - from_end] = size;
    }
  }
  return sizes;
}

}  // namespace graphrun
