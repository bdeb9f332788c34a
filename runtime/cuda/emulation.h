// Runs a grid of device threads on the host. Blocks run one after the other, with the threads of a block as fibers that switch
// at barriers; if the blocks of a grid synchronize, every thread is a host thread. This exposes errors in a kernel without a
// device: barriers that not all threads of a block reach; most reads of values that another thread has not written yet, because
// threads can be run in the opposite order; and races, under ThreadSanitizer, where the threads of every block are host
// threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/cuda/arrivals.h"

namespace graphrun::cuda {

// The thread that is running now.
class EmulatedBlocks;
struct EmulatedThread {
  int thread = 0, threads = 1;
  std::int64_t block = 0, blocks = 1;
  void* shared = nullptr;
  EmulatedBlocks* together = nullptr;  // for a grid whose blocks run at the same time
  int shared_in_warp = 0;              // how many times it has exchanged words within its warp
};
// Uses the initial-exec TLS model: kernels read it constantly, and dynamically allocated TLS of a library loaded later is not
// where LeakSanitizer (of GCC 12) expects it, which occasionally crashes LeakSanitizer at exit.
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
void cluster_barrier();
inline void cluster_arrive() {}
inline void cluster_wait() { cluster_barrier(); }
void* place_in_memory_of(int rank, void* mine);
template <class T>
T* memory_of(int rank, T* mine) {
  return static_cast<T*>(place_in_memory_of(rank, mine));
}
// As in primitives.h.
void begin_arrivals(Arrivals* arrivals);
void expect_arrivals(Arrivals* arrivals, int bytes);
// Throws InternalError if the round is not over after a minute.
void await_arrivals(Arrivals* arrivals, int odd);
void send_words(int rank, unsigned* mine, const unsigned* words, int count, Arrivals* arrivals);
template <int n>
void send_words(int rank, unsigned* mine, const unsigned (&words)[n], Arrivals* arrivals) {
  send_words(rank, mine, words, n, arrivals);
}
// Exchanges words within a warp, 32 consecutive threads: every thread contributes its words and sees those of all, indexed by
// position in the warp; they stay valid until the next call but one. Throws InternalError if the block does not consist of
// whole warps.
using SharedWords = std::array<unsigned, 6>;
const SharedWords* share_in_warp(const SharedWords& mine);
// As in primitives.h. The last warp of a block may be incomplete, but all its threads must take part.
unsigned word_of_other(unsigned mine, int distance);
// Reads a byte, so that sanitizers report an address that is not valid.
inline void fetch_ahead(const void* at) { static_cast<void>(*static_cast<const volatile char*>(at)); }
// Devices access packs only at multiples of their size. Throws InternalError for any other address.
void check_aligned(const void* address, std::size_t size);

struct EmulatedGrid {
  std::int64_t blocks = 1;
  int threads = 1;
  std::size_t shared = 0;  // bytes per block, with arbitrary contents when a block begins
  bool barriers = true;    // false: no thread waits for another, and plain loops suffice
  bool together = false;   // blocks wait for each other: every device thread is a host thread
  int cluster = 1;         // the number of consecutive blocks that synchronize with each other
};

// Runs `thread` once for every thread of the grid. Throws InternalError if some threads of a block wait at a barrier that
// others never reach, or if a grid without barriers executes one.
void emulate(const EmulatedGrid& grid, const std::function<void()>& thread);

// How many grids have run.
std::size_t emulated_launches();

// As on CUDA, the launches of a thread go to one device, and a stream of another is refused. A device is represented by an
// address, which is also its only stream; null is a stream of every device.
void use_emulated_device(const void* device);
// Throws InternalError for a stream of a device that is not in use.
void check_stream(const void* stream);

// Executes `work`, or records it while a run is being recorded; `work` owns all data that it needs.
void do_or_note(std::function<void()> work);
using NotedWork = std::vector<std::function<void()>>;
void note_work(NotedWork* to);  // records into `to` from now on; null: executes again
bool is_noted();
NotedWork* noted_work_now();  // where work is being recorded; null: it is executed

// Whether the threads of a block run from the last to the first between barriers.
void set_emulation_backwards(bool backwards);

}  // namespace graphrun::cuda
