// A grid of a device's threads on the host: blocks run one after the other, the threads of a block as fibers that take turns at
// barriers; or, of a grid whose blocks meet, all as threads of the host. What is wrong with a kernel's text shows here without
// a device: a barrier that not all threads of a block reach; because threads can be made to run in the opposite order, most
// reads of what another thread has not written yet; and under ThreadSanitizer, where the threads of any block are the host's,
// each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace graphrun::cuda {

// The thread that runs now.
class EmulatedBlocks;
struct EmulatedThread {
  int thread = 0, threads = 1;
  std::int64_t block = 0, blocks = 1;
  void* shared = nullptr;
  EmulatedBlocks* together = nullptr;  // of a grid whose blocks run at the same time
  int shared_in_warp = 0;              // how many times it shared words
};
// Kept beside the stack of each thread from its beginning: kernels read it all the time, and memory that a library loaded later
// asks for at first use is not where LeakSanitizer (of GCC 12) takes it to be, and crashes it at exit now and then.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local EmulatedThread emulated_thread;

inline long long block_index() { return emulated_thread.block; }
inline long long block_count() { return emulated_thread.blocks; }
inline int thread_index() { return emulated_thread.thread; }
inline int thread_count() { return emulated_thread.threads; }
inline void* shared_memory() { return emulated_thread.shared; }
void barrier();
void grid_barrier(unsigned* counter, unsigned& round);
inline bool exchange_if(int* at, int expected, int value) {
  return __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
int cluster_rank();
int cluster_size();
void cluster_barrier();
void* place_in_memory_of(int rank, void* mine);
template <class T>
T* memory_of(int rank, T* mine) {
  return static_cast<T*>(place_in_memory_of(rank, mine));
}
// Every thread of a warp, 32 that follow each other, brings words and sees those of all, by its place there; they stay until
// the next but one call. Throws InternalError where the block's threads are no whole warps.
using SharedWords = std::array<unsigned, 6>;
const SharedWords* share_in_warp(const SharedWords& mine);
// A device reads packs at multiples of their size alone. Throws InternalError.
void check_aligned(const void* address, std::size_t size);

struct EmulatedGrid {
  std::int64_t blocks = 1;
  int threads = 1;
  std::size_t shared = 0;  // bytes, whose contents are arbitrary when a block begins
  bool barriers = true;    // false: no thread waits for another, and plain loops do
  bool together = false;   // blocks wait for each other: every thread of the device is one of the host's
  int cluster = 1;         // as many of them do, and the next ones after them
};

// Runs `thread` once for every thread of the grid. Throws InternalError where some threads of a block wait at a barrier that
// others never reach, or where a grid without barriers has one.
void emulate(const EmulatedGrid& grid, const std::function<void()>& thread);

// Does `work`, or notes it while a run is recorded; it holds all that it needs.
void do_or_note(std::function<void()> work);
using NotedWork = std::vector<std::function<void()>>;
void note_work(NotedWork* to);  // from here on; null: it is done again
bool is_noted();
NotedWork* noted_work_now();  // where it is noted; null: it is done

// Whether the threads of a block run from the last to the first between barriers.
void set_emulation_backwards(bool backwards);

}  // namespace graphrun::cuda
