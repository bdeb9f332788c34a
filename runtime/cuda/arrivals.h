// A counter of the bytes that arrive in the shared memory of a block of a cluster; primitives.h has its operations.
#pragma once

namespace graphrun::cuda {

// Opaque: on CUDA, an mbarrier object of PTX.
struct Arrivals {
  unsigned long long state;
};

}  // namespace graphrun::cuda
