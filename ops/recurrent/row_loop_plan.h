// The plan of a loop that runs as one launch if no row of the batch ever reads another, as in a CRF, as plain data. Every block
// has rows of its own, runs all steps by itself and keeps what a step computes in shared memory. The text of the kernel follows
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
    std::int64_t place = -1;  // index in `places`; -1: none
    std::int64_t own = -1;    // index in `own`: it is in shared memory
    std::int64_t kept = -1;   // index in `kept`: a copy of it is in shared memory
  };
  // What a block computes in each step.
  struct OwnMemory {
    std::int64_t at = 0;   // from this byte of shared memory on
    std::int64_t row = 0;  // bytes of a row; 0: each block computes all of it
  };
  // An operand that all steps read. Each block copies it to shared memory before the first step.
  struct KeptOperand {
    std::size_t place = 0;
    DType dtype = DType::kFloat32;
    std::int64_t elements = 0, at = 0;  // from this byte of shared memory on
  };
  // An element of a sequence, which only one step reads. The step before prefetches it, so that it need not wait for memory.
  struct FetchedAhead {
    std::size_t place = 0;
    std::int64_t bytes = 0;  // of a row, or in total
    bool by_rows = false;
  };
  // An instruction of the body.
  struct RowLoopMember {
    std::string name;                 // name of its first result
    std::vector<Location> equations;  // of the equations that it came from; for pointwise work, `code` has them
    std::size_t inputs = 0, outputs = 0;
    std::vector<RowLoopOperand> operands;  // inputs, then outputs
    std::int64_t each = 0;                 // elements of a result per row, or in total if every block computes all of it
    bool of_each = false;
    bool fixed = false;  // its sizes, apart from the rows, are the same in every batch: they are constants in the text
    int lanes = 1;       // adjacent threads, in one warp, that compute an element together
    std::shared_ptr<const LoopPart> part = nullptr;  // null: a copy
  };

  std::int64_t rows = 0, steps = 0;
  bool reverse = false;
  std::vector<RowLoopMember> members;  // in order
  std::vector<std::size_t> places;     // the indices in LoopRun::places that the launch passes
  std::vector<char> stays;             // by place: its address is the same at every step
  std::vector<FetchedAhead> ahead;
  std::vector<OwnMemory> own;
  std::vector<KeptOperand> kept;
  std::int64_t blocks = 1;
  int threads = 32;
  std::size_t shared = 0, most_shared = 0;  // bytes of shared memory that a block uses, and can have
  double step_cycles = 0;                   // an estimate of the cycles of a step, see ops/recurrent/step_cycles.h

  // Present if shared memory is too small for what a step computes of a block's rows.
  Obstacle obstacle() const { return memory_obstacle(shared, most_shared); }
};

// The reason why a loop cannot be such a kernel: an instruction that has no part and is no copy, or too much work.
Obstacle row_loop_obstacle(const BoundScan& scan, const RowSharing& sharing);
// Requires that there is no row_loop_obstacle.
RowLoopPlan plan_row_loop(const BoundScan& scan, const RowSharing& sharing, const DeviceLimits& limits);

}  // namespace graphrun
