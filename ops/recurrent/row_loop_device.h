// What a loop is made of whose blocks have rows of their own (ops/recurrent/row_loop_plan.h). For the text of generated
// kernels.
#pragma once

#include "ops/recurrent/loop_device.h"
#include "ops/reduce/column_folds.h"

namespace graphrun::loop {

// As IndexFault (runtime/program/kernel.h).
struct FaultPlace {
  std::int32_t node, index;
  std::int64_t position;
};

// Where an instruction leaves word of an index out of its range.
struct Fault {
  FaultPlace* place;  // null: nobody asks
  std::int32_t node;

  // `index`, brought back into [0, bound) where it is not: of those that are found, one is written down, of several blocks'
  // whichever comes first.
  GRAPHRUN_DEVICE std::int64_t checked(std::int32_t index, std::int64_t bound, std::int64_t position) const {
    if (index >= 0 && index < bound) return index;
    if (place != nullptr && cuda::exchange_if(&place->node, 0, node)) {
      place->index = index;
      place->position = position;
    }
    return index < 0 || bound == 0 ? 0 : bound - 1;
  }
};

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
