// Kernels shared by rows (RowKernel of runtime/program/kernel.h): which operands every row of the results reads whole.
#pragma once

#include <functional>
#include <memory>

#include "runtime/program/kernel.h"

namespace graphrun {

// Whether the rows of an operand are those of a result that it broadcasts to: both have them as their first axis.
inline bool has_rows_of(const TensorView& operand, const TensorView& result) {
  return !operand.sizes.empty() && operand.sizes.size() == result.sizes.size() && operand.sizes[0] == result.sizes[0];
}

// A kernel whose `run` computes rows [begin, end) of the results; null if the first result has no rows.
inline std::shared_ptr<const RowKernel> row_kernel(const KernelRequest& request, std::vector<bool> reads_other_rows,
                                                   std::function<void(const KernelContext&, std::int64_t, std::int64_t)> run) {
  const Sizes& sizes = request.outputs.at(0).sizes;
  if (sizes.empty() || sizes[0] == 0) return nullptr;
  auto kernel = std::make_shared<RowKernel>();
  kernel->rows = sizes[0];
  kernel->reads_other_rows = std::move(reads_other_rows);
  kernel->run = std::move(run);
  return kernel;
}

}  // namespace graphrun
