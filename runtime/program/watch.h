// Looks at what instructions make, as they make it: to find out where numbers go wrong.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

class Watch {
 public:
  virtual ~Watch() = default;
  // After each instruction, within a loop at each of its steps; a loop itself when it is done. `steps`: the positions of the
  // loops around it, outermost first. An output that nobody reads is not present.
  virtual void made(const Instruction& instruction, std::span<const TensorView> outputs,
                    std::span<const std::int64_t> steps) = 0;
};

}  // namespace graphrun
