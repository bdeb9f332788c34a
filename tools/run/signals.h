// SIGINT and SIGTERM during a run: the first requests a checkpoint at the next step. SIGUSR1 counts as SIGTERM, because
// launchers of several processes forward it. Further signals within two seconds count as the same one, because timeout and
// service managers signal both the process and its group.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

namespace graphrun {

// Decides what a signal does, depending on when it arrives and whether a checkpoint is being saved.
class StopPolicy {
 public:
  static constexpr std::chrono::seconds kSameRequest{2};
  enum class Action {
    kStop,    // the first one: save a checkpoint and end
    kNone,    // counts as the same as the first
    kReport,  // the first later one during a save: report it and finish the save
    kEnd,     // any other: end the program at once
  };
  // `at`: time of a monotonic clock.
  Action at_signal(std::chrono::nanoseconds at, bool saving);

 private:
  std::optional<std::chrono::nanoseconds> first_;
  bool reported_ = false;
};

// During its lifetime, the signals are only recorded, except those that end the program; the destructor restores the previous
// handlers. There may be one at a time, created before the program has other threads: a thread of its own waits for the
// signals, and threads that start later have them blocked, so no handler interrupts a computing thread.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that was received, or 0.
  int pending() const { return came_.load(); }

  // Marks, during its lifetime, that a checkpoint is being saved.
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
