// Memory for the results of runs, reusing that of earlier results which are no longer referenced. Fresh memory costs a page
// fault for each page, which is more than many kernels take to fill it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "runtime/tensor/tensor.h"

namespace graphrun {

class ResultMemory {
 public:
  // For result i of the next run; the contents are arbitrary.
  Tensor take(std::size_t i, DType dtype, Sizes sizes);

 private:
  // For each result, the last tensor, and the previous one if the last was still in use: it may be a feed of the next run.
  std::vector<std::array<Tensor, 2>> used_;
};

}  // namespace graphrun
