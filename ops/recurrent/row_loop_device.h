// What a loop is made of whose blocks have rows of their own (ops/recurrent/row_loop_plan.h). For the text of generated
// kernels.
#pragma once

#include "ops/recurrent/loop_device.h"
#include "ops/reduce/column_folds.h"

namespace graphrun::loop {

// A column of [outer, n, inner], as the element of its result without n.
struct ReducedColumn {
  AxisView view;
  std::int64_t result, n;
  GRAPHRUN_DEVICE ReducedColumn(const AxisView& v, std::int64_t r) : view(v), result(r), n(v.n) {}
  GRAPHRUN_DEVICE std::int64_t at(std::int64_t position) const {
    return (result / view.inner * view.n + position) * view.inner + result % view.inner;
  }
};

}  // namespace graphrun::loop
