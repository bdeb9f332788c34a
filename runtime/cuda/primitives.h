// The device's primitives under one roof, so that the very same text of a kernel compiles with nvcc, with NVRTC, and for the
// host, where a grid of fibers stands in for the device (runtime/cuda/emulation.h). Grids and blocks have one dimension.
#pragma once

#include <cstddef>

#if defined(__CUDACC__)

#define GRAPHRUN_GLOBAL __global__ static
#define GRAPHRUN_DEVICE __device__ __forceinline__
// The entry of a generated kernel, found by its name; its one parameter is a struct that the launch brings as bytes.
#define GRAPHRUN_ENTRY(name, Arguments) extern "C" __global__ void name(const __grid_constant__ Arguments arguments)
#define GRAPHRUN_UNROLL _Pragma("unroll")
#define GRAPHRUN_PRAGMA(text) _Pragma(#text)
#define GRAPHRUN_UNROLL_BY(n) GRAPHRUN_PRAGMA(unroll n)

namespace graphrun::cuda {

GRAPHRUN_DEVICE long long block_index() { return blockIdx.x; }
GRAPHRUN_DEVICE long long block_count() { return gridDim.x; }
GRAPHRUN_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
GRAPHRUN_DEVICE int thread_count() { return static_cast<int>(blockDim.x); }
// All threads of the block meet here; what they wrote to shared memory before is seen by all after.
GRAPHRUN_DEVICE void barrier() { __syncthreads(); }
// All threads of a grid that was launched together meet here, and see what was written before. `counter`, 0 at first, is in the
// device's memory; `round` counts the meetings, in each thread.
GRAPHRUN_DEVICE void grid_barrier(unsigned* counter, unsigned& round) {
  ++round;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1u);
    const unsigned all = round * gridDim.x;
    while (*static_cast<volatile unsigned*>(counter) < all) {
    }
    __threadfence();
  }
  __syncthreads();
}
// Puts `value` where `expected` stands, if it does; one thread of all that try.
GRAPHRUN_DEVICE bool exchange_if(int* at, int expected, int value) { return atomicCAS(at, expected, value) == expected; }
// Of a grid that was launched in clusters: the block's place in its cluster, and how many there are.
GRAPHRUN_DEVICE int cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}
GRAPHRUN_DEVICE int cluster_size() {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return static_cast<int>(size);
}
// All threads of the cluster meet here, and see what was written before, in each other's memory too.
GRAPHRUN_DEVICE void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
// What is at the same place as `mine` in the memory of another block of the cluster, whose threads have begun and not ended.
template <class T>
GRAPHRUN_DEVICE T* memory_of(int rank, T* mine) {
  T* theirs;
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
  return theirs;
}
// The block's memory, of the size that the launch asked for, aligned to 16 bytes.
GRAPHRUN_DEVICE void* shared_memory() {
  extern __shared__ __align__(16) unsigned char graphrun_shared_bytes[];
  return graphrun_shared_bytes;
}

GRAPHRUN_DEVICE void check_aligned(const void*, std::size_t) {}  // the emulated device does

}  // namespace graphrun::cuda

#else

#define GRAPHRUN_GLOBAL static
#define GRAPHRUN_DEVICE inline
#define GRAPHRUN_ENTRY(name, Arguments) extern "C" void name(const Arguments& arguments)
#define GRAPHRUN_UNROLL
#define GRAPHRUN_UNROLL_BY(n)

#include "runtime/cuda/emulation.h"

#endif
