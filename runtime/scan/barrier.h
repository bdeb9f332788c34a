// A barrier for the threads of a group.
#pragma once

#include <atomic>

namespace graphrun {

// Spins for a while, then yields the core: the group may have fewer cores than threads.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  // Returns once all threads have called it.
  void wait();
  // For a thread that will not call wait() again: from now on no thread waits.
  void leave() { open_.store(true, std::memory_order_release); }

 private:
  const int threads_;
  std::atomic<bool> open_{false};
  std::atomic<int> waiting_{0};
  std::atomic<unsigned> round_{0};
};

}  // namespace graphrun
