// Memory for the results of runs: that of earlier ones which nobody holds any more. Fresh memory costs a fault for every page
// of it, more than many a kernel that fills it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "runtime/tensor/tensor.h"

namespace graphrun {

class ResultMemory {
 public:
  // For result i of the next run, whatever stands there.
  Tensor take(std::size_t i, DType dtype, Sizes sizes);

 private:
  // Of each the last, and the one before where the last was held when memory was wanted: the next run may be fed it.
  std::vector<std::array<Tensor, 2>> used_;
};

}  // namespace graphrun
