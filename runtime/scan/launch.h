// A scan whose steps a device runs all as one launch: its blocks have their own columns of every result from step to step, as
// the threads of a group have (runtime/scan/thread_group.h), and wait only where one reads what others have computed; or rows
// of their own, and never wait. What such a launch is made of is the device library's business, which registers how to make
// one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"
#include "runtime/scan/rows.h"

namespace graphrun {

// Where an operand of the body stands at the k-th step to run, with position(k) = k or, in reverse, steps - 1 - k:
//   `first` in step 0 where it is not null, else (k even ? even : odd) + stride · position(k + shift).
// A struct of the kernels' own.
struct LoopPlace {
  char* first = nullptr;
  char* even = nullptr;
  char* odd = nullptr;
  std::int64_t stride = 0;  // bytes
  std::int64_t shift = 0;   // steps
};

// A run of a loop: the places of every operand of every instruction of the body, one after the other, and a kernel's context
// outside of the loop.
struct LoopRun {
  std::vector<LoopPlace> places;
  std::vector<std::int32_t> nodes;  // what a fault names each instruction by
  KernelContext context;
};

class LoopKernel {
 public:
  // Bytes of workspace that every loop has: the blocks synchronize on it. Behind them is what they pass to each other, at most
  // what the body's kernels say (Kernel::passed_bytes).
  static constexpr std::size_t kWorkspace = 256;

  virtual ~LoopKernel() = default;
  virtual void run(const LoopRun& run) const = 0;
  // Bytes of it that are zeros when it runs.
  virtual std::size_t workspace() const { return kWorkspace; }
  // Has its code made: of those that were made to choose among, the one that is going to run.
  virtual void prepare() const = 0;
  // What it is like: whether its blocks wait for each other, in clusters alone, whether all weights stay in their memory, and
  // in how many parts of a grid rows are shared out.
  struct Traits {
    bool synchronizes = false, in_clusters = false, keeps_weights = false;
    std::int64_t row_parts = 1;
  };
  virtual Traits traits() const = 0;
  // The text of its kernel, with comments that quote the equations it came from.
  virtual std::string text() const = 0;
  virtual std::string describe() const = 0;  // "as one launch of 128 blocks of 256 threads, 48 KiB each"
};

// Whether an instruction of a body is one that a device can run as part of a loop's launch.
bool is_part_of_loop(const BoundInstruction& bound);

// A launch, or what keeps the loop from being one.
struct LoopChoice {
  std::shared_ptr<const LoopKernel> loop;
  Obstacle obstacle;
};
// Where a block would have to have more memory than a device gives one.
inline Obstacle memory_obstacle(std::size_t bytes, std::size_t most) {
  return Obstacle::beyond(Obstacle::Kind::kBlockBytes, static_cast<double>(bytes), static_cast<double>(most));
}
// Where a launch would have to bring more arguments than one can.
inline Obstacle argument_obstacle(std::size_t bytes, std::size_t most) {
  return Obstacle::beyond(Obstacle::Kind::kArgumentBytes, static_cast<double>(bytes), static_cast<double>(most));
}

// Makes one where it can. `sharing`: among how many that run concurrently the device is shared.
using LoopFactory = std::function<LoopChoice(const BoundScan& scan, const ProgramLayout& layout, int sharing)>;
// Of loops that are shared by rows of the batch.
using RowLoopFactory = std::function<LoopChoice(const BoundScan& scan, const RowSharing& rows)>;
// Once, when the device's library is loaded.
void set_loop_factory(LoopFactory factory);
void set_row_loop_factory(RowLoopFactory factory);

// What the blocks of its loop may pass to each other, at most.
std::size_t passed_bytes(const BoundScan& scan);

// The launch of a bound scan, or why there is none by columns and by rows; `sharing` as above.
struct LaunchFound {
  std::shared_ptr<const LoopKernel> loop;
  Obstacle by_columns, by_rows;
};
LaunchFound find_launch(const BoundScan& scan, const ProgramLayout& layout, int sharing);

// The addresses of a run, from the scan's operands.
LoopRun loop_run(const BoundScan& scan, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                 const std::int32_t* positions, const KernelContext& context);

}  // namespace graphrun
