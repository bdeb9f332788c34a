#include "runtime/scan/barrier.h"

#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graphrun {
namespace {

// Before the core is given away: in the first round, where the thread waited for may have been woken on this core and not run
// yet, and in those after it. Another program that takes the core then keeps it for milliseconds.
constexpr std::chrono::microseconds kFirstPatience{4}, kPatience{100};
constexpr int kPauses = 16;  // between two looks at the clock

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
  // By the clock: how long a pause takes differs between processors by a factor of ten, and where there are fewer cores than
  // threads the one waited for may need this one.
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
