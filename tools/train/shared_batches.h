// The batches of an update, shared out among processes in rounds: each process takes one batch a round, and the gradients are
// added in the order of the batches. N processes so have the bits of one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicator/communicator.h"
#include "tools/data/batch_source.h"
#include "tools/train/stepper.h"

namespace graphrun {

class SharedBatches {
 public:
  // All outlive it. `accumulate`: batches of an update. `cut`: whether the parameters and sums are looked at behind so many
  // batches of an epoch; a round ends there.
  SharedBatches(Communicator& together, BatchSource& source, Stepper& stepper, std::int64_t accumulate,
                std::function<bool(std::int64_t done)> cut);

  // From here on next() gives the batches of this epoch from this one on. The stepper's pending batches are those before it.
  void begin(const BatchPosition& at);
  // A batch, of whichever process, with its figures; without feeds.
  struct Counted {
    Batch batch;
    BatchFigures figures;
  };
  // The next batch, in every process the same; nothing at the end of the epoch. Behind the last one of an update, or where
  // `cut` says so, the stepper's slots hold the sums. `step`: the update under way. `signal`: what this process was sent, 0:
  // nothing.
  std::optional<Counted> next(std::int64_t step, int signal);
  // The largest signal that any process had been sent when the last round ended.
  int signal() const { return signal_; }

  // Seconds since begin(): for the slowest process of each round; for gradients.
  double seconds_waiting() const { return waiting_; }
  double seconds_communicating() const { return communicating_; }

 private:
  void take_round(std::int64_t step, int signal);
  void take_slots();
  void give_slots();

  Communicator& together_;
  BatchSource& source_;
  Stepper& stepper_;
  const std::function<bool(std::int64_t)> cut_;
  BatchShare share_;
  BatchPosition at_;
  std::deque<Counted> counted_;
  const std::vector<std::string> slots_;
  std::vector<float> numbers_;  // of all slots
  OrderedSum sum_;
  bool in_slots_ = true;  // the sums up to the last batch
  int signal_ = 0;
  double waiting_ = 0, communicating_ = 0;
};

}  // namespace graphrun
