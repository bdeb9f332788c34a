// How a loop runs as one launch where no row of the batch ever reads another, as in a CRF, as plain data: every block has rows
// of its own, goes through all steps by itself and keeps what a step makes in its own memory. The text of the kernel follows
// from it: ops/recurrent/row_loop_text.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/generated/loop_part.h"
#include "runtime/scan/launch.h"
#include "runtime/scan/rows.h"
#include "runtime/tensor/backend.h"

namespace graphrun {

struct RowLoopPlan {
  struct RowLoopOperand {
    DType dtype = DType::kFloat32;
    std::int64_t place = -1;  // in `places`; -1: it lies in the block's own memory:
    std::int64_t at = 0;      // from this byte on
    std::int64_t row = 0;     // bytes of a row; 0: each block makes all of it for itself
  };
  // An instruction of the body.
  struct RowLoopMember {
    std::string name;                 // of its first result
    std::vector<Location> equations;  // what it came from; of pointwise work its code knows
    std::size_t inputs = 0, outputs = 0;
    std::vector<RowLoopOperand> operands;  // inputs, then outputs
    std::int64_t each = 0;                 // elements of a result in a row; of all of it, where every block makes it for itself
    bool of_each = false;
    std::shared_ptr<const LoopPart> part = nullptr;  // null: a copy
  };

  std::int64_t rows = 0, steps = 0;
  bool reverse = false;
  std::vector<RowLoopMember> members;  // in their order
  std::vector<std::size_t> places;     // which of LoopRun::places the launch brings
  std::int64_t blocks = 1;
  int threads = 32;
  std::size_t shared = 0, most_shared = 0;  // bytes that a block has, and can have

  // Where a block has no room for what a step makes of its rows.
  Obstacle obstacle() const { return memory_obstacle(shared, most_shared); }
};

// What keeps a loop from being such a kernel: an instruction that is neither a part of one nor a copy, or too much work.
Obstacle row_loop_obstacle(const BoundScan& scan, const RowSharing& sharing);
// Of a loop that nothing keeps from it.
RowLoopPlan plan_row_loop(const BoundScan& scan, const RowSharing& sharing, const DeviceLimits& limits);

}  // namespace graphrun
