// Selects rows of the values that pass from step to step, on the device where they are: hypotheses follow their parents, and
// rows leave the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/generation.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/result_memory.h"

namespace graphrun {

// Whether the numbers are 0, 1, …, count - 1, so that all rows stay in place.
bool is_range(const std::vector<std::int64_t>& numbers, std::int64_t count);

class RowPicker {
 public:
  // For the values in `what`; FLOAT is float32. Values without rows (row_axis -1) are returned unchanged. With `follow`, rows
  // of all values but the word (kWordInput) are selected through their parents.
  RowPicker(const GenerationGraphs& cut, std::vector<GenerationGraphs::Carried> what, const Device& device,
            bool follow = false);

  // Row r of a result is row rows[r] of the value (INT32 [n]); with `follow`, it is row parents[rows[r]], except for the word.
  // `values` are in the order of `what`; on a device, they and the results are in its memory. Only the first `steps` of a
  // history are kept; on the CPU the others are zeros. A value whose rows all stay in place may be returned as it is. On the
  // CPU, values that nothing shares are changed in place: if the number of rows stays the same, only rows that move are copied;
  // if it changes, only a history keeps its memory (history_memory.h).
  std::vector<Tensor> pick(std::vector<Tensor> values, const Tensor& rows, const Tensor& parents = {}, std::int64_t steps = 0);

 private:
  std::vector<Tensor> pick_on_host(std::vector<Tensor> values, const Tensor& rows, const Tensor& parents, std::int64_t steps);
  bool has_rows(std::size_t k) const { return what_[k].row_axis >= 0; }

  const std::vector<GenerationGraphs::Carried> what_;
  const std::vector<Symbol> capacity_;  // sizes of histories
  const bool follow_, on_device_;
  ResultMemory memory_;                     // on the CPU
  std::unique_ptr<Executable> executable_;  // on a device, for values with rows; null if there are none
};

}  // namespace graphrun
