// Spreads the threads of a parallel region over cores. A system whose cores were recently busy wakes a thread on the core where
// it last slept, or on the core of the thread that woke it, and rebalances only some milliseconds later: longer than most
// regions last. Two threads that wait for each other on one core take at least as long as one thread alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace graphrun {

// The cores of the regions that one thread starts. Threads are not bound: a thread that shares its core is moved once, and
// afterwards the system may move it like any other.
class Cores {
 public:
  static Cores& of_this_thread();

  // Called by the thread that starts a region, before it wakes the others. It moves back to its core of the previous region if
  // it is now on a core that another thread used then, because that thread would be woken there.
  void begin();
  // Called by each of the others, in the region: moves to an unused core if another thread uses this one.
  void enter();

 private:
  static constexpr int kMost = 1024;  // cores with higher numbers are not tracked
  bool is_taken(int core) const;
  bool take(int core);  // whether the core was unused

  int own_ = -1;  // of the thread that starts the regions
  std::array<std::atomic<std::uint64_t>, kMost / 64> taken_{};
};

}  // namespace graphrun
