// A scan whose steps a device runs all in one launch. Either each block owns columns of every result for all steps, like the
// threads of a group (runtime/scan/thread_group.h), and waits only where a block reads what others have computed; or each block
// owns rows, and never waits. The device's library makes such launches (runtime/device/device.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"
#include "runtime/scan/loop_compiler.h"
#include "runtime/scan/rows.h"
#include "runtime/tensor/backend.h"

namespace graphrun {

// The address of an operand of the body at the k-th step to run, with position(k) = k or, in reverse, steps - 1 - k:
//   `first` in step 0 where it is not null, else (k even ? even : odd) + stride · position(k + shift).
// A struct shared with the kernels.
struct LoopPlace {
  char* first = nullptr;
  char* even = nullptr;
  char* odd = nullptr;
  std::int64_t stride = 0;  // bytes
  std::int64_t shift = 0;   // steps
};

// One run of a loop: the addresses of every operand of every instruction of the body, consecutively, and the context that a
// kernel outside the loop would get.
struct LoopRun {
  std::vector<LoopPlace> places;
  std::vector<std::int32_t> nodes;  // the number by which a fault names each instruction
  KernelContext context;
};

class LoopKernel {
 public:
  // Bytes of workspace that every loop has, on which its blocks synchronize. What the blocks pass to each other follows them:
  // at most the bytes that the body's kernels declare (Kernel::passed_bytes).
  static constexpr std::size_t kWorkspace = 256;

  virtual ~LoopKernel() = default;
  virtual void run(const LoopRun& run) const = 0;
  // Bytes of the workspace that must be zero when the launch starts.
  virtual std::size_t workspace() const { return kWorkspace; }
  // Compiles the code. Of several candidates, only the one that will run is compiled.
  virtual void prepare() const = 0;
  // Its properties: whether its blocks wait for each other, whether only within clusters, whether all weights stay in their
  // memory, how many parts of the grid share the rows, whether the factors of a product are rounded, and an estimate of the
  // cycles of a step, by which launches of the same loop are compared.
  struct Traits {
    bool synchronizes = false, in_clusters = false, keeps_weights = false;
    std::int64_t row_parts = 1;
    bool rounds = false;
    double step_cycles = 0;
  };
  virtual Traits traits() const = 0;
  // The text of its kernel, with comments that quote the equations it came from.
  virtual std::string text() const = 0;
  virtual std::string describe() const = 0;  // "as one launch of 128 blocks of 256 threads, 48 KiB each"
};

// Whether a device can run this instruction of a body as part of a loop's launch.
bool is_part_of_loop(const BoundInstruction& bound);

// A launch, or the reason there is none.
struct LoopChoice {
  std::shared_ptr<const LoopKernel> loop;
  Obstacle obstacle;
};
// For a block that would need more memory than the device gives one.
inline Obstacle memory_obstacle(std::size_t bytes, std::size_t most) {
  return Obstacle::beyond(Obstacle::Kind::kBlockBytes, static_cast<double>(bytes), static_cast<double>(most));
}
// For a launch that would need more arguments than the device accepts.
inline Obstacle argument_obstacle(std::size_t bytes, std::size_t most) {
  return Obstacle::beyond(Obstacle::Kind::kArgumentBytes, static_cast<double>(bytes), static_cast<double>(most));
}

// The most bytes that the blocks of its loop may pass to each other.
std::size_t passed_bytes(const BoundScan& scan);

// The launch of a bound scan on a device with these limits, or why there is none, by columns and by rows. Where there could be
// both, it is by columns, unless its blocks would wait for each other and a step by rows takes less time. Products whose
// factors are rounded stay by columns: they run on matrix units there.
struct LaunchFound {
  std::shared_ptr<const LoopKernel> loop;
  Obstacle by_columns, by_rows;
};
LaunchFound find_launch(const BoundScan& scan, const ProgramLayout& layout, const LoopCompiler& compiler,
                        const DeviceLimits& limits);

// The addresses for a run, from the scan's operands.
LoopRun loop_run(const BoundScan& scan, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                 const std::int32_t* positions, const KernelContext& context);

}  // namespace graphrun
