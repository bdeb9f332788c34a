// Wrappers for the device's primitives, so that the same kernel text compiles with nvcc, with NVRTC, and for the host, where a
// grid of fibers emulates the device (runtime/cuda/emulation.h). Grids and blocks are one-dimensional.
#pragma once

#include <cstddef>

#include "runtime/cuda/arrivals.h"

#if defined(__CUDACC__)

#define GRAPHRUN_GLOBAL __global__ static
// A kernel whose blocks have at most `threads` threads: the compiler limits the registers of each thread accordingly.
#define GRAPHRUN_GLOBAL_OF(threads) GRAPHRUN_GLOBAL_OF_BLOCKS(threads, 1)
// The same, with registers limited so that a multiprocessor has room for `blocks` blocks.
#define GRAPHRUN_GLOBAL_OF_BLOCKS(threads, blocks) __global__ static __launch_bounds__(threads, blocks)
#define GRAPHRUN_DEVICE __device__ __forceinline__
// The entry point of a generated kernel, looked up by name; its one parameter is a struct, which the launch passes as bytes.
#define GRAPHRUN_ENTRY(name, Arguments) extern "C" __global__ void name(const __grid_constant__ Arguments arguments)
#define GRAPHRUN_UNROLL _Pragma("unroll")
#define GRAPHRUN_PRAGMA(text) _Pragma(#text)
#define GRAPHRUN_UNROLL_BY(n) GRAPHRUN_PRAGMA(unroll n)
// Where the device has clusters; elsewhere, a trap.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define GRAPHRUN_IN_CLUSTER(...) __trap()
#else
#define GRAPHRUN_IN_CLUSTER(...) __VA_ARGS__
#endif

namespace graphrun::cuda {

GRAPHRUN_DEVICE long long block_index() { return blockIdx.x; }
GRAPHRUN_DEVICE long long block_count() { return gridDim.x; }
GRAPHRUN_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
GRAPHRUN_DEVICE int thread_count() { return static_cast<int>(blockDim.x); }
// A barrier for all threads of the block: what they wrote to shared memory before it is visible to all after it.
GRAPHRUN_DEVICE void barrier() { __syncthreads(); }
// A barrier for all threads of a grid that was launched cooperatively: earlier writes are visible after it. `counter`,
// initially 0, is in the device's memory; `round` counts the barriers, in each thread.
GRAPHRUN_DEVICE void grid_barrier(unsigned* counter, unsigned& round) {
  ++round;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
    unsigned arrived;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(arrived) : "l"(counter) : "memory");
    } while (arrived < round * gridDim.x);
  }
  __syncthreads();
}
// Compare and swap: stores `value` if `*at` is `expected`; exactly one of the competing threads succeeds.
GRAPHRUN_DEVICE bool exchange_if(int* at, int expected, int value) { return atomicCAS(at, expected, value) == expected; }
// In a grid that was launched in clusters: the block's rank in its cluster.
GRAPHRUN_DEVICE int cluster_rank() {
  unsigned rank = 0;
  GRAPHRUN_IN_CLUSTER(asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)));
  return static_cast<int>(rank);
}
// A barrier for all threads of the cluster: earlier writes are visible after it, in each other's shared memory too.
GRAPHRUN_DEVICE void cluster_barrier() {
  GRAPHRUN_IN_CLUSTER(asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory"));
}
// The same in two halves, without waiting for writes: says that this thread's block runs; waits until all blocks of the cluster
// do, so that their memory can be written. Each thread must call both, in turn.
GRAPHRUN_DEVICE void cluster_arrive() { GRAPHRUN_IN_CLUSTER(asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory")); }
GRAPHRUN_DEVICE void cluster_wait() { GRAPHRUN_IN_CLUSTER(asm volatile("barrier.cluster.wait.acquire;" ::: "memory")); }
// The address that corresponds to `mine` in the shared memory of another block of the cluster, whose threads must be running.
template <class T>
GRAPHRUN_DEVICE T* memory_of(int rank, T* mine) {
  T* theirs = nullptr;
  GRAPHRUN_IN_CLUSTER(asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank)));
  return theirs;
}

// Blocks of a cluster count the bytes that arrive in their shared memory, in rounds. A round begins when the previous one ends,
// and ends when all bytes that the block expects in it have arrived. Bytes may arrive before the block says how many it
// expects.
GRAPHRUN_DEVICE unsigned place_in_shared(const void* at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }
// By one thread, before a barrier of the cluster.
GRAPHRUN_DEVICE void begin_arrivals(Arrivals* arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(place_in_shared(arrivals))
               : "memory");
}
// By one thread, once in every round.
GRAPHRUN_DEVICE void expect_arrivals(Arrivals* arrivals, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place_in_shared(arrivals)), "r"(bytes)
               : "memory");
}
// Waits for the end of a round; `odd`: its number, from 0, modulo 2. The next round must not have ended. What arrived is
// visible after it.
GRAPHRUN_DEVICE void await_arrivals(Arrivals* arrivals, int odd) {
  unsigned over;
  do {
    asm volatile(
        "{\n.reg .pred over;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], %2;\n"
        "selp.u32 %0, 1, 0, over;\n}"
        : "=r"(over)
        : "r"(place_in_shared(arrivals)), "r"(odd)
        : "memory");
  } while (over == 0);
}
// Stores words at the place that corresponds to `mine` in the shared memory of another block of the cluster, and counts them
// there in what corresponds to `arrivals`. Addresses are multiples of the words' size.
GRAPHRUN_DEVICE void send_words(int rank, unsigned* mine, const unsigned (&words)[4], Arrivals* arrivals) {
  asm volatile(
      "{\n.reg .b32 to, counter;\nmapa.shared::cluster.u32 to, %0, %2;\nmapa.shared::cluster.u32 counter, %1, %2;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [to], {%3, %4, %5, %6}, [counter];\n}" ::"r"(
          place_in_shared(mine)),
      "r"(place_in_shared(arrivals)), "r"(rank), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
      : "memory");
}
GRAPHRUN_DEVICE void send_words(int rank, unsigned* mine, const unsigned (&words)[2], Arrivals* arrivals) {
  asm volatile(
      "{\n.reg .b32 to, counter;\nmapa.shared::cluster.u32 to, %0, %2;\nmapa.shared::cluster.u32 counter, %1, %2;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [to], {%3, %4}, [counter];\n}" ::"r"(place_in_shared(mine)),
      "r"(place_in_shared(arrivals)), "r"(rank), "r"(words[0]), "r"(words[1])
      : "memory");
}

// The word of another thread of the warp: the one whose index differs in the bits of `distance`. All threads of the warp must
// call it, and the other must exist.
GRAPHRUN_DEVICE unsigned word_of_other(unsigned mine, int distance) { return __shfl_xor_sync(0xFFFFFFFFU, mine, distance); }
// Prefetches the line of global memory that contains `at`, so that a later load does not wait for it.
GRAPHRUN_DEVICE void fetch_ahead(const void* at) { asm volatile("prefetch.global.L1 [%0];" ::"l"(at)); }
// The block's shared memory, of the size that the launch requested, aligned to 16 bytes.
GRAPHRUN_DEVICE void* shared_memory() {
  extern __shared__ __align__(16) unsigned char graphrun_shared_bytes[];
  return graphrun_shared_bytes;
}

GRAPHRUN_DEVICE void check_aligned(const void*, std::size_t) {}  // the emulated device checks

}  // namespace graphrun::cuda

#else

#define GRAPHRUN_GLOBAL static
#define GRAPHRUN_GLOBAL_OF(threads) static
#define GRAPHRUN_GLOBAL_OF_BLOCKS(threads, blocks) static
#define GRAPHRUN_DEVICE inline
#define GRAPHRUN_ENTRY(name, Arguments) extern "C" void name(const Arguments& arguments)
#define GRAPHRUN_UNROLL
#define GRAPHRUN_UNROLL_BY(n)

#include "runtime/cuda/emulation.h"

#endif
