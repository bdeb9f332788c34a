// SIGINT and SIGTERM during a run: the first asks for a checkpoint at the next step. SIGUSR1 counts as SIGTERM: it is what
// launchers of several processes pass on. Those within two seconds of the first count as one: timeout and service managers
// signal both the process and its group.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

namespace graphrun {

// Decides what a signal does, by when it comes and whether a checkpoint is being saved.
class StopPolicy {
 public:
  static constexpr std::chrono::seconds kSameRequest{2};
  enum class Action {
    kStop,    // the first: a checkpoint, and the end
    kNone,    // it counts as one with the first
    kReport,  // the first later one during a save, which continues
    kEnd,     // any other: the program ends at once
  };
  // `at`: by a clock that only rises.
  Action at_signal(std::chrono::nanoseconds at, bool saving);

 private:
  std::optional<std::chrono::nanoseconds> first_;
  bool reported_ = false;
};

// While one lives, the signals only leave a note, but for those that end the program; what handled them before comes back
// with its end. One at a time, made before the program has other threads: it is a thread of its own that waits for them, and
// all that start later leave them to it. No computing thread may be interrupted by a handler: machine code that a library
// writes at run time (oneDNN's products) may use the stack pointer for other things, and the kernel would put the handler's
// frame there.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that came; 0: none.
  int pending() const { return came_.load(); }

  // Marks that a checkpoint is being saved, as long as it lives.
  class Saving {
   public:
    explicit Saving(StopSignals& signals) : signals_(signals) { signals_.saving_ = true; }
    ~Saving() { signals_.saving_ = false; }
    Saving(const Saving&) = delete;
    Saving& operator=(const Saving&) = delete;

   private:
    StopSignals& signals_;
  };

 private:
  void wait_for_signals();
  void take(int signal);

  sigset_t handled_, before_;
  StopPolicy policy_;
  std::atomic<int> came_{0};
  std::atomic<bool> saving_{false}, ended_{false};
  std::thread waiting_;
};

}  // namespace graphrun
