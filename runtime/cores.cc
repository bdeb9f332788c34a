#include "runtime/cores.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace graphrun {
namespace {

#if defined(__linux__)
int this_core() { return sched_getcpu(); }

// The first core that this thread may run on and `wanted` admits, with this thread on it: -1 where there is none.
template <class Wanted>
int move_to(const Wanted& wanted) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || !wanted(core)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
    return core;
  }
  return -1;
}
#else
int this_core() { return -1; }

template <class Wanted>
int move_to(const Wanted&) {
  return -1;
}
#endif

}  // namespace

Cores& Cores::of_this_thread() {
  thread_local Cores cores;
  return cores;
}

bool Cores::is_taken(int core) const {
  const auto at = static_cast<unsigned>(core);
  return core >= 0 && core < kMost && (taken_[at / 64].load(std::memory_order_relaxed) >> at % 64 & 1) != 0;
}

bool Cores::take(int core) {
  if (core < 0 || core >= kMost) return true;
  const auto at = static_cast<unsigned>(core);
  const std::uint64_t bit = std::uint64_t{1} << at % 64;
  return (taken_[at / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

void Cores::begin() {
  int core = this_core();
  if (core != own_ && is_taken(core)) {
    const int back = move_to([this](int c) { return c == own_; });
    if (back >= 0) core = back;
  }
  own_ = core;
  for (std::atomic<std::uint64_t>& word : taken_) word.store(0, std::memory_order_relaxed);
  take(core);
}

void Cores::enter() {
  if (!take(this_core())) move_to([this](int core) { return take(core); });
}

}  // namespace graphrun
