// Updates by several processes, each of which updates its slices of the parameters and has the optimizer's slots of these alone
// (train.shard_optimizer). The results have the same bits as those of one process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicator/communicator.h"
#include "runtime/tensor/checkpoint.h"
#include "tools/train/stepper.h"

namespace graphrun {

class ShardedUpdate {
 public:
  // Processes own units of this many elements, so that a slice never divides a piece of global_norm.
  static constexpr std::size_t kUnit = 4096;
  // Makes this object compute the stepper's updates, and takes over its slots. `gradients`, with units of kUnit: the sums of
  // the stepper's slots `names`, which begin at `begins`, multiples of kUnit. Parameters are divided like their gradients. The
  // arguments must outlive it. Only on the CPU, and if the optimizer is_elementwise.
  ShardedUpdate(Communicator& together, Stepper& stepper, OrderedSum& gradients, const std::vector<std::string>& names,
                const std::vector<std::size_t>& begins);
  ~ShardedUpdate();
  ShardedUpdate(const ShardedUpdate&) = delete;
  ShardedUpdate& operator=(const ShardedUpdate&) = delete;

  // Takes the stepper's parameters and slots after others have set them, which must be equal in all processes. Removes the
  // optimizer's slots from the stepper's variables. The array of `gradients` must contain their sums.
  void take();
  // The slots of this process's slices, including the sums of gradients. They share memory with those in use.
  NamedTensors own() const;
  // The slices of this process, copied from whole slots.
  NamedTensors cut(const NamedTensors& whole) const;
  // Replaces the slots of this process's slices by copies of these.
  void set(const NamedTensors& slices);

  // Replaces parameters by their moving averages. All processes call it. Throws PeerEnd.
  void average(NamedTensors& parameters);
  // Calls `save` in process 0 while the others send what it needs. There, the groups of the checkpoint that `are_slices` names
  // become groups of whole slots, which are collected one after another as they are written. All processes call it. Throws
  // PeerEnd, and what `save` throws.
  void save(Checkpoint& checkpoint, const std::vector<std::string>& are_slices, const std::function<void()>& save);

 private:
  struct SliceRange {
    std::size_t begin = 0, count = 0;  // elements of a parameter
  };
  // A parameter, or the divisor of the gradients, which is summed like them.
  struct Divided {
    std::string name, sum;  // `sum`: the slot of its gradient
    Sizes sizes;
    std::size_t begin = 0, count = 0;             // in the arrays
    std::vector<std::vector<SliceRange>> ranges;  // by rank
  };

  Divided divided(const std::string& name, const std::string& sum, const std::vector<std::string>& names,
                  const std::vector<std::size_t>& begins) const;
  const std::vector<SliceRange>& own(const Divided& divided) const {
    return divided.ranges[static_cast<std::size_t>(together_.rank())];
  }
  static ParameterSlice slice_of(const Divided& divided, const SliceRange& range);
  static std::string name_of(const Divided& divided, const SliceRange& range) { return slice_of(divided, range).name(); }
  // Calls `act` for each slot of a checkpoint: whose it is, and its ending.
  void for_slots(const std::function<void(const Divided& divided, const std::string& ending)>& act) const;
  void take_slot(const std::string& name, const Tensor& slot);
  NamedTensors cut_one(const Divided& divided, const std::string& ending, const Tensor& whole) const;
  Tensor sum_of(const Divided& divided, const SliceRange& range) const;
  // This process's elements of a slot, as bytes.
  std::string bytes_of(const Divided& divided, const std::string& ending, const NamedTensors& slices) const;
  // The whole slot from this process's slices and the bytes of the others.
  Tensor joined(const Divided& divided, const std::string& ending, const NamedTensors& slices,
                const std::vector<std::string>& parts) const;
  double update(std::int64_t step, double learning_rate);
  double norm();

  Communicator& together_;
  Stepper& stepper_;
  OrderedSum& gradients_;
  Tensor parameters_;                       // all of them, laid out like the gradients
  std::vector<Divided> all_;                // in the order of global_norm's operands
  std::optional<Divided> per_;              // the divisor of the gradients, if there is one
  const std::vector<std::string> endings_;  // of the optimizer's slots
  std::shared_ptr<Variables> slices_ = std::make_shared<Variables>();
  std::unique_ptr<Executable> program_;
};

}  // namespace graphrun
