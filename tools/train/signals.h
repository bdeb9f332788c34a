// SIGINT and SIGTERM during a run: the first asks for a checkpoint at the next step, a second one ends the program at once.
#pragma once

#include <atomic>
#include <csignal>
#include <thread>

namespace graphrun {

// While one lives, the two signals only leave a note; what handled them before comes back with its end. One at a time, made
// before the program has other threads: it is a thread of its own that waits for them, and all that start later leave them to
// it. No computing thread may be interrupted by a handler: machine code that a library writes at run time (oneDNN's products)
// may use the stack pointer for other things, and the kernel would put the handler's frame there.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that came; 0: none.
  int pending() const { return came_.load(); }

 private:
  void wait_for_signals();

  sigset_t handled_, before_;
  std::atomic<int> came_{0};
  std::atomic<bool> ended_{false};
  std::thread waiting_;
};

}  // namespace graphrun
