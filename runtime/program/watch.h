// An observer of the instructions' results as they are computed: to find out where numbers go wrong.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

class Watch {
 public:
  virtual ~Watch() = default;
  // Called after each instruction, within a loop at each of its steps; for a loop itself, when it is done. `steps`: the
  // positions of the enclosing loops, outermost first. Outputs that nothing reads are not present.
  virtual void made(const Instruction& instruction, std::span<const TensorView> outputs,
                    std::span<const std::int64_t> steps) = 0;
};

}  // namespace graphrun
