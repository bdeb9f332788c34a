// The building blocks of a loop whose blocks have rows of their own (ops/recurrent/row_loop_plan.h). For the text of generated
// kernels.
#pragma once

#include "ops/recurrent/loop_device.h"
#include "ops/reduce/column_folds.h"

namespace graphrun::loop {

// The column of [outer, n, inner] that is reduced to element e of the result.
struct ReducedColumn {
  AxisView view;
  std::int64_t result, n;
  GRAPHRUN_DEVICE ReducedColumn(const AxisView& v, std::int64_t r) : view(v), result(r), n(v.n) {}
  GRAPHRUN_DEVICE std::int64_t at(std::int64_t position) const {
    return (result / view.inner * view.n + position) * view.inner + result % view.inner;
  }
};

}  // namespace graphrun::loop
