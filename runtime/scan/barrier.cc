#include "runtime/scan/barrier.h"

#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graphrun {
namespace {

// How long to spin before yielding the core: in the first round, the awaited thread may have been woken on this very core
// without having run yet; in later rounds, longer, because another program that gets the core then keeps it for milliseconds.
constexpr std::chrono::microseconds kFirstPatience{4}, kPatience{100};
constexpr int kPauses = 16;  // between two reads of the clock

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

void Barrier::wait() {
  const unsigned round = round_.load(std::memory_order_acquire);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    waiting_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    return;
  }
  // Time is measured by the clock, since the length of a pause instruction differs between processors by a factor of ten. If
  // there are fewer cores than threads, the awaited thread may need this core.
  const std::chrono::microseconds patience = round == 0 ? kFirstPatience : kPatience;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto waits = [&] { return round_.load(std::memory_order_acquire) == round && !open_.load(std::memory_order_acquire); };
  while (waits()) {
    for (int i = 0; i < kPauses && waits(); ++i) pause();
    if (Clock::now() - begin > patience) std::this_thread::yield();
  }
}

}  // namespace graphrun
