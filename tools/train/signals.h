// SIGINT and SIGTERM during a run: the first asks for a checkpoint at the next step, a second one ends the program at once.
#pragma once

namespace graphrun {

// While one lives, the two signals only leave a note; what handled them before comes back with its end. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that came; 0: none.
  int pending() const;
};

}  // namespace graphrun
