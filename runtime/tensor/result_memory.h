// Memory for the results of runs, reusing that of earlier results which are no longer referenced.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "runtime/tensor/backend.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// On the host. Fresh memory costs a page fault for each page, which is more than many kernels take to fill it.
class ResultMemory {
 public:
  // For result i of the next run; the contents are arbitrary.
  Tensor take(std::size_t i, DType dtype, Sizes sizes);

 private:
  // For each result, the last tensor, and the previous one if the last was still in use: it may be a feed of the next run.
  std::vector<std::array<Tensor, 2>> used_;
};

// On a device, where runs are replayed if their addresses recur (RecordedRuns). So the results of a run lie together in one of
// two sets of memory: the first if no tensor references memory that the run needs there, else the second. Runs that are fed the
// results of the run before them use the sets in turn; once all results have been released, the next sequence of runs begins at
// the first set again.
class DeviceResultMemory {
 public:
  struct Result {
    std::size_t i;  // its number: equal numbers have the same memory
    DType dtype;
    Sizes sizes;
  };
  explicit DeviceResultMemory(Backend& backend) : backend_(backend) {}
  // For some results of the next run, in their order; the contents are arbitrary, and no other tensor shares the memory. If
  // both sets are in use, the memory is fresh. Throws UserError (E0503) if out of memory.
  std::vector<Tensor> take(const std::vector<Result>& results);

 private:
  using Set = std::vector<DeviceMemory>;  // by number
  Backend& backend_;
  std::array<Set, 2> sets_;
};

}  // namespace graphrun
