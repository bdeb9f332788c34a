// Rows of what goes from step to step, where they lie: hypotheses follow their parents, and sentences leave the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/generation.h"
#include "compiler/ir/builder.h"
#include "runtime/execute/executable.h"

namespace graphrun {

// `value` with the rows of an axis that the INT32 [n] list names, in its order.
ir::ValueId with_rows(ir::Builder& b, ir::ValueId value, std::size_t axis, ir::ValueId rows);

class RowPicker {
 public:
  // FLOAT is float32. What has no rows (row_axis -1) comes out as it is.
  RowPicker(const std::vector<GenerationGraphs::Carried>& what, Device device);

  // `values` in the order of `what`; the results stay on the device.
  std::vector<Tensor> pick(const std::vector<Tensor>& values, const std::vector<std::int64_t>& rows);

 private:
  std::vector<int> row_axes_;
  std::unique_ptr<Executable> executable_;  // of what has rows; null: none has
};

}  // namespace graphrun
