#include "runtime/threads/cores.h"

#include <omp.h>

#include <algorithm>

#if defined(__linux__)
#include <sched.h>
#endif

namespace graphrun {
namespace {

#if defined(__linux__)
int this_core() { return sched_getcpu(); }

// Whether threads may be moved: not if the system refuses it, nor if OpenMP has bound them (OMP_PROC_BIND, OMP_PLACES).
std::atomic<bool> may_move{omp_get_proc_bind() == omp_proc_bind_false};

// Restores the thread's set of allowed cores. If the process has lost cores in the meantime and none of the set is valid,
// allows all that it still has.
void let_run_on(const cpu_set_t& allowed) {
  if (sched_setaffinity(0, sizeof allowed, &allowed) == 0) return;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);
}

// Moves this thread to the next core that it may run on and that `wanted` admits, and returns that core; -1 if there is none.
template <class Wanted>
int move_to(const Wanted& wanted) {
  cpu_set_t allowed;
  const int from = std::max(0, this_core());
  if (!may_move.load(std::memory_order_relaxed) || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (int step = 1; step < CPU_SETSIZE; ++step) {
    const int core = (from + step) % CPU_SETSIZE;
    if (!CPU_ISSET(core, &allowed) || !wanted(core)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
      may_move.store(false, std::memory_order_relaxed);
      return -1;
    }
    let_run_on(allowed);
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
