// Launches reductions along an axis on a device: for .cu files.
#pragma once

#include <limits>

#include "ops/axis.h"
#include "ops/reduce/column_grid.h"
#include "runtime/cuda/launch.h"

namespace graphrun::cuda {

template <class Body>
GRAPHRUN_GLOBAL void columns_kernel(Body body, ColumnGrid grid, AxisView view, Lengths lengths) {
  body(Column(grid, view, lengths));
}

// Calls body(column) for every column of the view; the values that it folds have at most `value_bytes`.
template <class Body>
void for_columns(const KernelContext& c, const AxisView& view, const Lengths& lengths, std::size_t value_bytes,
                 const Body& body) {
  const ColumnGrid grid = column_grid(view);
  if (grid.blocks == 0) return;
  launch(c.stream, {grid.blocks, ColumnGrid::kThreads, grid.shared(value_bytes), grid.lanes > 1}, &columns_kernel<Body>, body,
         grid, view, lengths);
}

// The initial value of maxima and minima.
template <class T>
constexpr T lowest() {
  if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::min();
}
template <class T>
constexpr T highest() {
  if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::max();
}

}  // namespace graphrun::cuda
