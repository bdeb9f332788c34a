#include "runtime/cuda/emulation.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cuda/matrix_units.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace graphrun::cuda {

[[gnu::tls_model("initial-exec")]] constinit thread_local EmulatedThread emulated_thread;

// The words that the threads of a warp share: two buffers, so that no thread overwrites what another still reads.
struct EmulatedWarp {
  SharedWords words[2][kWarpThreads];
};

namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr int kWarp = kWarpThreads;
bool backwards = false;
// Fibers of a single thread never race.
#if defined(__SANITIZE_THREAD__)
constexpr bool kWatchesRaces = true;
#else
constexpr bool kWatchesRaces = false;
#endif
// For the test that checks that races would be detected.
const bool kNobodyWaits = kWatchesRaces && std::getenv("GRAPHRUN_EMULATE_WITHOUT_BARRIERS") != nullptr;

SharedWords* put_words(EmulatedWarp& warp, const SharedWords& mine) {
  SharedWords* const all = warp.words[emulated_thread.shared_in_warp++ % 2];
  all[emulated_thread.thread % kWarp] = mine;
  return all;
}

// Tells AddressSanitizer about stack switches.
class StackSwitch {
 public:
#if defined(__SANITIZE_ADDRESS__)
  void leave(const void* bottom, std::size_t size) { __sanitizer_start_switch_fiber(&fake_, bottom, size); }
  void entered(const void** bottom, std::size_t* size) { __sanitizer_finish_switch_fiber(fake_, bottom, size); }

 private:
  void* fake_ = nullptr;
#else
  void leave(const void*, std::size_t) {}
  void entered(const void**, std::size_t*) {}
#endif
};

// A fiber for one thread of the running block. It is reused from block to block and launch to launch, since only its first
// entry costs a system call.
struct Fiber {
  enum class State : std::uint8_t { kIdle, kReady, kWaiting, kInWarp, kInPart } state = State::kIdle;
  int shared_in_warp = 0;  // of its EmulatedThread
  bool begun = false;
  sigjmp_buf place;
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  StackSwitch switching;
};

class Block {
 public:
  static Block& instance() {
    static Block block;
    return block;
  }

  void run(int threads, const std::function<void()>& thread) {
    while (fibers_.size() < static_cast<std::size_t>(threads)) fibers_.push_back(std::make_unique<Fiber>());
    thread_ = &thread;
    warps_.resize(static_cast<std::size_t>((threads + kWarp - 1) / kWarp));
    for (int t = 0; t < threads; ++t) fibers_[static_cast<std::size_t>(t)]->shared_in_warp = 0;
    let(0, threads);
    try {
      do run_ready(threads);
      while (release(threads));
    } catch (...) {
      fibers_.clear();  // they are suspended in the middle of the failed kernel
      throw;
    }
  }

  void wait(Fiber::State how = Fiber::State::kWaiting) {
    Fiber& fiber = *current_;
    fiber.state = how;
    leave(fiber);
  }
  // `whole`: the warp must not be the incomplete last one of a block.
  const SharedWords* share_in_warp(const SharedWords& mine, bool whole) {
    SharedWords* const all = put_words(warps_[static_cast<std::size_t>(emulated_thread.thread / kWarp)], mine);
    wait(whole ? Fiber::State::kInWarp : Fiber::State::kInPart);
    return all;
  }

 private:
  void run_ready(int threads) {
    for (int i = 0; i < threads; ++i) {
      const int t = backwards ? threads - 1 - i : i;
      Fiber& fiber = *fibers_[static_cast<std::size_t>(t)];
      if (fiber.state != Fiber::State::kReady) continue;
      emulated_thread.thread = t, emulated_thread.shared_in_warp = fiber.shared_in_warp;
      enter(fiber);
      fiber.shared_in_warp = emulated_thread.shared_in_warp;
    }
  }
  int count(int begin, int end, Fiber::State state) const {
    int found = 0;
    for (int t = begin; t < end; ++t) found += fibers_[static_cast<std::size_t>(t)]->state == state;
    return found;
  }
  void let(int begin, int end) {
    for (int t = begin; t < end; ++t) fibers_[static_cast<std::size_t>(t)]->state = Fiber::State::kReady;
  }
  // If all threads of a warp, or all of the block, wait for each other, makes them ready again. False: all threads have
  // finished.
  bool release(int threads) {
    bool any = false;
    for (int t = 0; t < threads; t += kWarp) {
      const int end = std::min(threads, t + kWarp), whole = count(t, end, Fiber::State::kInWarp);
      const int sharing = whole + count(t, end, Fiber::State::kInPart);
      if (sharing == 0) continue;
      GRAPHRUN_CHECK(sharing == (whole > 0 ? kWarp : end - t),
                     "words are shared by " + std::to_string(sharing) + " threads of a warp");
      let(t, end);
      any = true;
    }
    if (any) return true;
    const int waiting = count(0, threads, Fiber::State::kWaiting);
    GRAPHRUN_CHECK(waiting == 0 || waiting == threads, "a kernel's barrier is reached by " + std::to_string(waiting) + " of " +
                                                           std::to_string(threads) + " threads");
    if (waiting > 0) let(0, threads);
    return waiting > 0;
  }

  void enter(Fiber& fiber) {
    current_ = &fiber;
    if (sigsetjmp(scheduler_, 0) == 0) {
      if (!fiber.begun) begin(fiber);
      switching_.leave(fiber.stack.get(), kStackBytes);
      fiber.context.uc_link == nullptr ? siglongjmp(fiber.place, 1) : static_cast<void>(setcontext(&fiber.context));
    }
    switching_.entered(nullptr, nullptr);
  }
  void begin(Fiber& fiber) {
    fiber.stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &fiber.context;  // until it has started
    makecontext(&fiber.context, &Block::main, 0);
    fiber.begun = true;
  }
  void leave(Fiber& fiber) {
    if (sigsetjmp(fiber.place, 0) == 0) {
      fiber.switching.leave(bottom_, bytes_);
      siglongjmp(scheduler_, 1);
    }
    fiber.switching.entered(&bottom_, &bytes_);
  }
  static void main() {
    Block& block = instance();
    Fiber& fiber = *block.current_;
    fiber.context.uc_link = nullptr;
    fiber.switching.entered(&block.bottom_, &block.bytes_);
    for (;;) {
      (*block.thread_)();
      fiber.state = Fiber::State::kIdle;
      block.leave(fiber);
    }
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<EmulatedWarp> warps_;
  Fiber* current_ = nullptr;
  const std::function<void()>* thread_ = nullptr;
  sigjmp_buf scheduler_;
  StackSwitch switching_;
  const void* bottom_ = nullptr;  // of the scheduler's stack
  std::size_t bytes_ = 0;
};

bool in_fibers = false;

void run_block(const EmulatedGrid& grid, const std::function<void()>& thread) {
  if (grid.barriers) return Block::instance().run(grid.threads, thread);
  for (int t = 0; t < grid.threads; ++t) {
    emulated_thread.thread = t;
    thread();
  }
}

}  // namespace

void set_emulation_backwards(bool so) { backwards = so; }

static const void* used_device = nullptr;

void use_emulated_device(const void* device) { used_device = device; }
void check_stream(const void* stream) {
  GRAPHRUN_CHECK(stream == nullptr || stream == used_device, "a launch on a stream of a device that is not in use");
}

static NotedWork* noted_work = nullptr;

void do_or_note(std::function<void()> work) { noted_work != nullptr ? noted_work->push_back(std::move(work)) : work(); }
void note_work(NotedWork* to) { noted_work = to; }
bool is_noted() { return noted_work != nullptr; }
NotedWork* noted_work_now() { return noted_work; }

// Blocks that run at the same time: `count` blocks of the grid, starting at `first`.
class EmulatedBlocks {
 public:
  // `together`: the size of each group of consecutive blocks that synchronize with each other.
  EmulatedBlocks(const EmulatedGrid& grid, std::int64_t first, std::int64_t count, std::int64_t together)
      : grid_(grid), first_(first), together_(together) {
    for (std::int64_t b = 0; b < count; b += together)
      groups_.push_back(std::make_unique<std::barrier<>>(together * grid.threads));
    for (std::int64_t b = 0; b < count; ++b) {
      blocks_.push_back(std::make_unique<std::barrier<>>(grid.threads));
      for (int t = 0; t < grid.threads; t += kWarp)
        warps_.push_back(std::make_unique<WarpOfThreads>(std::min(kWarp, grid.threads - t)));
      shared_.emplace_back(grid.shared / sizeof(std::max_align_t) + 1);
      std::memset(shared_.back().data(), 0xA5, shared_.back().size() * sizeof(std::max_align_t));
    }
  }

  void run(const std::function<void()>& thread) {
    std::vector<std::thread> threads;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (int t = 0; t < grid_.threads; ++t) threads.emplace_back([this, &thread, b, t] { run_one(thread, b, t); });
    }
    for (std::thread& t : threads) t.join();
    if (failure_) std::rethrow_exception(failure_);
  }
  void wait_for_block() {
    if (kNobodyWaits) return;
    blocks_[static_cast<std::size_t>(emulated_thread.block - first_)]->arrive_and_wait();
  }
  void wait_for_all() {
    if (!kNobodyWaits) group_of(emulated_thread.block - first_).arrive_and_wait();
  }
  int rank() const { return static_cast<int>((emulated_thread.block - first_) % together_); }
  int count() const { return static_cast<int>(together_); }
  void* place_in_memory_of(int rank, void* mine) {
    GRAPHRUN_CHECK(rank >= 0 && rank < count(), "no such block in the cluster");
    const auto at = static_cast<char*>(mine) - static_cast<char*>(emulated_thread.shared);
    GRAPHRUN_CHECK(at >= 0 && static_cast<std::size_t>(at) < grid_.shared, "no place in the block's memory");
    const std::int64_t block = (emulated_thread.block - first_) / together_ * together_ + rank;
    return reinterpret_cast<char*>(shared_[static_cast<std::size_t>(block)].data()) + at;
  }
  const SharedWords* share_in_warp(const SharedWords& mine, bool whole) {
    WarpOfThreads& warp = warp_of(emulated_thread.block - first_, emulated_thread.thread);
    GRAPHRUN_CHECK(!whole || warp.threads == kWarp,
                   "words are shared by " + std::to_string(warp.threads) + " threads of a warp");
    SharedWords* const all = put_words(warp, mine);
    if (!kNobodyWaits) warp.barrier.arrive_and_wait();
    return all;
  }

 private:
  struct WarpOfThreads : EmulatedWarp {
    explicit WarpOfThreads(int n) : threads(n), barrier(n) {}
    const int threads;
    std::barrier<> barrier;
  };
  WarpOfThreads& warp_of(std::int64_t block, int thread) {
    return *warps_[static_cast<std::size_t>(block * ((grid_.threads + kWarp - 1) / kWarp) + thread / kWarp)];
  }
  // A thread that fails never reaches another barrier, so it must not keep others waiting.
  void run_one(const std::function<void()>& thread, std::size_t b, int t) {
    emulated_thread = {t, grid_.threads, first_ + static_cast<std::int64_t>(b), grid_.blocks, shared_[b].data(), this, 0};
    try {
      thread();
    } catch (...) {
      const std::lock_guard lock(failing_);
      if (failure_ == nullptr) failure_ = std::current_exception();  // others may fail because this thread is missing
    }
    blocks_[b]->arrive_and_drop();
    warp_of(static_cast<std::int64_t>(b), t).barrier.arrive_and_drop();
    group_of(static_cast<std::int64_t>(b)).arrive_and_drop();
  }

  std::barrier<>& group_of(std::int64_t block) { return *groups_[static_cast<std::size_t>(block / together_)]; }

  const EmulatedGrid grid_;
  const std::int64_t first_, together_;
  std::vector<std::unique_ptr<std::barrier<>>> blocks_;
  std::vector<std::unique_ptr<WarpOfThreads>> warps_;  // by block, then warp
  std::vector<std::unique_ptr<std::barrier<>>> groups_;
  std::vector<std::vector<std::max_align_t>> shared_;
  std::mutex failing_;
  std::exception_ptr failure_;
};

void grid_barrier(unsigned*, unsigned& round) {
  GRAPHRUN_CHECK(emulated_thread.together != nullptr, "blocks meet in a grid that was not launched together");
  ++round;
  emulated_thread.together->wait_for_all();
}

static EmulatedBlocks& cluster() {
  GRAPHRUN_CHECK(emulated_thread.together != nullptr, "a cluster in a grid that was launched without");
  return *emulated_thread.together;
}
int cluster_rank() { return cluster().rank(); }
void cluster_barrier() { cluster().wait_for_all(); }
void* place_in_memory_of(int rank, void* mine) { return cluster().place_in_memory_of(rank, mine); }

namespace {

// How Arrivals::state is used here.
struct EmulatedArrivals {
  std::int32_t bytes = 0;      // that are expected; negative if more have arrived than were expected so far
  std::uint16_t expects = 0;   // 1: the block has said how many it expects in this round
  std::uint16_t finished = 0;  // rounds
};
// Guards all of them.
std::mutex arriving;
std::condition_variable round_over;

EmulatedArrivals of(const Arrivals& arrivals) { return std::bit_cast<EmulatedArrivals>(arrivals.state); }
void set(Arrivals& arrivals, EmulatedArrivals a) {
  if (a.expects != 0 && a.bytes == 0) {
    a.expects = 0, ++a.finished;
    round_over.notify_all();
  }
  arrivals.state = std::bit_cast<unsigned long long>(a);
}

}  // namespace

void begin_arrivals(Arrivals* arrivals) {
  const std::lock_guard lock(arriving);
  set(*arrivals, {});
}
void expect_arrivals(Arrivals* arrivals, int bytes) {
  const std::lock_guard lock(arriving);
  EmulatedArrivals a = of(*arrivals);
  GRAPHRUN_CHECK(a.expects == 0, "bytes are expected twice in a round");
  a.bytes += bytes, a.expects = 1;
  set(*arrivals, a);
}
void await_arrivals(Arrivals* arrivals, int odd) {
  if (kNobodyWaits) return;
  std::unique_lock lock(arriving);
  const bool over = round_over.wait_for(lock, std::chrono::minutes(1), [&] { return of(*arrivals).finished % 2 != odd; });
  GRAPHRUN_CHECK(over, "bytes that are expected from blocks of the cluster do not arrive");
}
void send_words(int rank, unsigned* mine, const unsigned* words, int count, Arrivals* arrivals) {
  check_aligned(mine, static_cast<std::size_t>(count) * sizeof(unsigned));
  std::memcpy(memory_of(rank, mine), words, static_cast<std::size_t>(count) * sizeof(unsigned));
  Arrivals& theirs = *memory_of(rank, arrivals);
  const std::lock_guard lock(arriving);
  EmulatedArrivals a = of(theirs);
  a.bytes -= count * static_cast<int>(sizeof(unsigned));
  set(theirs, a);
}

void barrier() {
  if (emulated_thread.together != nullptr) return emulated_thread.together->wait_for_block();
  GRAPHRUN_CHECK(in_fibers, "a barrier in a grid that was launched without");
  Block::instance().wait();
}

static const SharedWords* share(const SharedWords& mine, bool whole) {
  if (emulated_thread.together != nullptr) return emulated_thread.together->share_in_warp(mine, whole);
  GRAPHRUN_CHECK(in_fibers, "words are shared in a grid that was launched without barriers");
  return Block::instance().share_in_warp(mine, whole);
}
const SharedWords* share_in_warp(const SharedWords& mine) { return share(mine, true); }
unsigned word_of_other(unsigned mine, int distance) {
  const int other = emulated_thread.thread ^ distance;
  GRAPHRUN_CHECK(distance < kWarp && other < emulated_thread.threads, "a word of a thread that is not in the warp");
  return share({mine}, false)[other % kWarp][0];
}

void check_aligned(const void* address, std::size_t size) {
  GRAPHRUN_CHECK(reinterpret_cast<std::uintptr_t>(address) % size == 0, "a pack of elements that is not aligned to its size");
}

static std::atomic<std::size_t> launches = 0;

std::size_t emulated_launches() { return launches; }

void emulate(const EmulatedGrid& grid, const std::function<void()>& thread) {
  ++launches;
  if (grid.together) return EmulatedBlocks(grid, 0, grid.blocks, grid.blocks).run(thread);
  if (grid.cluster > 1) {
    GRAPHRUN_CHECK(grid.blocks % grid.cluster == 0, "blocks that make no whole clusters");
    for (std::int64_t b = 0; b < grid.blocks; b += grid.cluster)
      EmulatedBlocks(grid, b, grid.cluster, grid.cluster).run(thread);
    return;
  }
  if (kWatchesRaces && grid.barriers) {
    for (std::int64_t b = 0; b < grid.blocks; ++b) EmulatedBlocks(grid, b, 1, 1).run(thread);
    return;
  }
  std::vector<std::max_align_t> shared(grid.shared / sizeof(std::max_align_t) + 1);
  in_fibers = grid.barriers;
  emulated_thread = {0, grid.threads, 0, grid.blocks, shared.data(), nullptr, 0};
  for (std::int64_t b = 0; b < grid.blocks; ++b) {
    std::memset(shared.data(), 0xA5, shared.size() * sizeof(std::max_align_t));
    emulated_thread.block = b;
    run_block(grid, thread);
  }
  in_fibers = false;
}

}  // namespace graphrun::cuda
