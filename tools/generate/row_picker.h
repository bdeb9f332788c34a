// Rows of what goes from step to step, where they lie: hypotheses follow their parents, and rows leave the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/generation.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/result_memory.h"

namespace graphrun {

// Whether the numbers are 0, 1, …, count - 1: whether all rows stay where they are.
bool is_range(const std::vector<std::int64_t>& numbers, std::int64_t count);

class RowPicker {
 public:
  // Of values as `what` has them; FLOAT is float32. What has no rows (row_axis -1) comes out as it is. With `follow`, the rows
  // of all but the word (kWordInput) are named by way of their parents.
  RowPicker(const GenerationGraphs& cut, std::vector<GenerationGraphs::Carried> what, const Device& device,
            bool follow = false);

  // Row r of a result is row rows[r] of the value (INT32 [n]; with `follow` row parents[rows[r]], and of the word rows[r]).
  // `values` in the order of `what`; on a device all lie there, and so do the results. Of a history the first `steps` alone
  // need be kept: on the CPU the rest may be zeros. A value whose rows all stay where they are may come out as it is; on the
  // CPU, if its memory is not shared and as many rows come out as it has, only those that move are copied, in that memory.
  std::vector<Tensor> pick(std::vector<Tensor> values, const Tensor& rows, const Tensor& parents = {}, std::int64_t steps = 0);

 private:
  std::vector<Tensor> pick_on_host(std::vector<Tensor> values, const Tensor& rows, const Tensor& parents, std::int64_t steps);
  bool has_rows(std::size_t k) const { return what_[k].row_axis >= 0; }

  const std::vector<GenerationGraphs::Carried> what_;
  const std::vector<Symbol> capacity_;  // sizes of histories
  const bool follow_, on_device_;
  ResultMemory memory_;                     // on the CPU
  std::unique_ptr<Executable> executable_;  // on a device, of what has rows; null: none has
};

}  // namespace graphrun
