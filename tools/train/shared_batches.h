// Distributes the batches of an update among processes, in rounds: each process computes the gradient of one batch per round,
// and the gradients are added in the order of the batches. The result has the same bits as that of one process. Gradients are
// sent while the pass that computes them still runs. With train.sum: BY_PROCESS, a process adds the gradients of its own
// batches, and the processes add these sums once an update.
//
// On GPUs, gradients stay in the devices' memory if something can carry them between devices
// (runtime/communicator/device_group.h). Otherwise, they are copied to the host and back.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicator/communicator.h"
#include "runtime/communicator/device_group.h"
#include "tools/data/batch_source.h"
#include "tools/train/sharded_update.h"
#include "tools/train/stepper.h"

namespace graphrun {

class SharedBatches {
 public:
  // All processes make it together. The arguments must outlive it. `cut`: whether the run validates or saves after `done`
  // batches of an epoch; a round ends there. Throws what join_devices throws.
  SharedBatches(Communicator& together, BatchSource& source, Stepper& stepper, const Recipe& recipe,
                std::function<bool(std::int64_t done)> cut);

  // Makes next() continue with this batch. The stepper's pending batches are those before it.
  void begin(const BatchPosition& at);
  // Makes next() call `act` before the last round of each update that has all of its batches, in every process and with the
  // parameters before the update: with the batch that completes it, which is null except in process `owner`, and the batch's
  // number in the update, from 0.
  using BeforeUpdate = std::function<void(const Batch* last, int owner, std::int64_t number)>;
  void before_updates(BeforeUpdate act) { before_update_ = std::move(act); }
  // A batch of any process, without feeds, and its figures.
  struct Counted {
    Batch batch;
    BatchFigures figures;
  };
  // The next batch, the same in every process; nullopt at the end of the epoch. After the last batch of an update, and where
  // `cut` requires it, the stepper's slots contain the sums. `step`: the current update. `signal`: the signal that this process
  // received; 0 if none. Throws PeerEnd.
  std::optional<Counted> next(std::int64_t step, int signal);
  // Makes the stepper's slots contain whole sums where each process has only those of its slices. All processes call it, after
  // an update. Throws PeerEnd.
  void bring_sums();
  // Collects the states of all parts of a stream in the stepper of process 0. All processes call it. Throws PeerEnd.
  void gather_states();
  // What updates the slices of this process; null if each process updates all parameters.
  ShardedUpdate* sharded() { return sharded_ ? &*sharded_ : nullptr; }
  // Brings parameters and slots that were set in the stepper's variables to their places. Call it in all processes.
  void take_variables();
  // Makes the stepper compute its updates alone, for a process that uses it without the others from now on.
  void leave() { sharded_.reset(); }
  // The largest signal that any process had received by the end of the last round.
  int signal() const { return signal_; }

  // Since begin(): seconds of waiting for the slowest process of each round, and of transferring gradients.
  double seconds_waiting() const { return waiting_; }
  double seconds_communicating() const { return communicating_; }

 private:
  void take_round(std::int64_t step, int signal);
  struct RoundOfUpdate {
    int first = 0, last = 0;  // processes
    bool begins_update = false, ends_update = false;
    bool is_wanted = false;  // whether the sum is used after this round
  };
  bool begin_sum(const RoundOfUpdate& round);
  OrderedSum make_sum(const Recipe& recipe);
  void bring_slots();
  void clear_slots();
  void mark_slots_written();

  Communicator& together_;
  BatchSource& source_;
  Stepper& stepper_;
  const std::function<bool(std::int64_t)> cut_;
  const std::int64_t accumulate_, parts_;
  const bool by_process_;
  BatchShare share_;
  BatchPosition at_;
  std::int64_t update_begin_ = 0;  // a batch of the epoch that begins an update
  std::deque<Counted> counted_;
  const std::vector<std::string> slots_;
  const std::vector<std::size_t> begins_;       // of the slots in the array of `sum_`, and its end
  const std::unique_ptr<DeviceGroup> devices_;  // null: gradients are added in host memory
  OrderedSum sum_;
  // Of the slots, parts of that array: on the host or on the device.
  std::vector<Tensor> places_;
  std::vector<DeviceMemory> places_on_device_;
  std::optional<ShardedUpdate> sharded_;
  // Whether the slots contain the sums up to the last batch; if sharded, whether each process has those of its slices.
  bool in_slots_ = true;
  bool has_own_ = false;  // BY_PROCESS: whether the slots contain gradients that this process contributes to the next sum
  BeforeUpdate before_update_;
  int signal_ = 0;
  double waiting_ = 0, communicating_ = 0;
};

}  // namespace graphrun
