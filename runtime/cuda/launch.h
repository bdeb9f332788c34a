// Launches an op's kernels: nvcc's code on the context's stream, the host's code on a grid of fibers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/cuda/primitives.h"
#include "runtime/program/kernel.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#define GRAPHRUN_LAMBDA [=] __device__
#else
#define GRAPHRUN_LAMBDA [=]
#endif

namespace graphrun::cuda {

struct Grid {
  std::int64_t blocks = 1;
  int threads = 1;
  std::size_t shared = 0;  // bytes per block
  bool barriers = true;    // whether the threads of a block synchronize
  bool together = false;   // whether all blocks do, which must then be resident concurrently (generated kernels only)
  int cluster = 1;         // blocks that synchronize and write to each other's memory; divides the grid
};

// The default number of threads per block: whole warps, and four blocks fit on any multiprocessor.
inline constexpr int kBlockThreads = 256;
// Enough blocks to fill the largest device; with more work, each thread loops over its share.
inline constexpr std::int64_t kMostBlocks = 1 << 16;

// For one thread per element, or per few elements.
inline Grid grid_of_elements(std::int64_t count) {
  return {std::min(kMostBlocks, (count + kBlockThreads - 1) / kBlockThreads), kBlockThreads, 0, false};
}

#if defined(__CUDACC__)
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw UserError(ExitCode::kRunFailed, "E0513 cuda", std::string(what) + ": " + cudaGetErrorString(status));
}

template <class... Parameters, class... Arguments>
void launch(void* stream, const Grid& grid, void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (grid.cluster > 1) {
    cudaLaunchAttribute clusters;
    clusters.id = cudaLaunchAttributeClusterDimension;
    clusters.val.clusterDim.x = static_cast<unsigned>(grid.cluster);
    clusters.val.clusterDim.y = clusters.val.clusterDim.z = 1;
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3(static_cast<unsigned>(grid.blocks)), launch.blockDim = dim3(static_cast<unsigned>(grid.threads));
    launch.dynamicSmemBytes = grid.shared, launch.stream = static_cast<cudaStream_t>(stream);
    launch.attrs = &clusters, launch.numAttrs = 1;
    return check(cudaLaunchKernelEx(&launch, kernel, arguments...), "the launch of a kernel in clusters");
  }
  kernel<<<static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.threads), grid.shared,
           static_cast<cudaStream_t>(stream)>>>(arguments...);
  check(cudaGetLastError(), "the launch of a kernel");
}
#else
template <class... Parameters, class... Arguments>
void launch(void* stream, const Grid& grid, void (*kernel)(Parameters...), const Arguments&... arguments) {
  check_stream(stream);
  do_or_note([=] {
    emulate({grid.blocks, grid.threads, grid.shared, grid.barriers, false, grid.cluster}, [&] { kernel(arguments...); });
  });
}
#endif

template <class Body>
GRAPHRUN_GLOBAL void elements_kernel(Body body, std::int64_t count) {
  const std::int64_t all = block_count() * thread_count();
  for (std::int64_t i = block_index() * thread_count() + thread_index(); i < count; i += all) body(i);
}

// Calls body(i) for i from 0 to count - 1; consecutive i are in one warp.
template <class Body>
void for_elements(const KernelContext& context, std::int64_t count, const Body& body) {
  if (count > 0) launch(context.stream, grid_of_elements(count), &elements_kernel<Body>, body, count);
}

// An index from the data, clamped to [0, bound). Those out of range are recorded elsewhere (ops/device_indices.h).
GRAPHRUN_DEVICE std::int64_t clamped(std::int32_t index, std::int64_t bound) {
  return index < 0 || bound == 0 ? 0 : index < bound ? index : bound - 1;
}

}  // namespace graphrun::cuda
