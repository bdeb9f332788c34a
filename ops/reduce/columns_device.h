// Launches reductions along an axis on a device: for .cu files.
#pragma once

#include <limits>

#include "ops/axis.h"
#include "ops/reduce/column_grid.h"
#include "runtime/cuda/launch.h"

namespace graphrun::cuda {

template <class Body>
GRAPHRUN_GLOBAL_OF(ColumnGrid::kMostThreads)
void columns_kernel(Body body, ColumnGrid grid, AxisView view, Lengths lengths) {
  body(Column(grid, view, lengths));
}

// Calls body(column) for every column of the view; the values that it folds have at most `value_bytes`.
template <class Body>
void for_columns(const KernelContext& c, const AxisView& view, const Lengths& lengths, std::size_t value_bytes,
                 const Body& body) {
  const ColumnGrid grid = column_grid(view, ColumnGrid::kMostThreads);
  if (grid.blocks == 0) return;
  launch(c.stream, {grid.blocks, grid.threads(), grid.shared(value_bytes), grid.lanes > 1}, &columns_kernel<Body>, body, grid,
         view, lengths);
}

// What a fold computes: Value start(); Value take(Value, index in the tensor, position); Value join(Value, Value); and
// write(column, value), called by one thread for each column.
template <class Fold>
GRAPHRUN_GLOBAL_OF(ColumnGrid::kMostThreads)
void fold_kernel(Fold fold, ColumnGrid grid, AxisView view, Lengths lengths, typename Fold::Value* parts, int joins) {
  using Value = typename Fold::Value;
  fold_columns(
      grid, view, lengths, parts, joins, fold.start(),
      [&](Value so_far, std::int64_t at, std::int64_t position) { return fold.take(so_far, at, position); },
      [&](Value a, Value b) { return fold.join(a, b); }, [&](const Column& c, Value total) { fold.write(c, total); });
}

// Folds every column of the view. `workspace` has the bytes that folds_bytes() returns.
template <class Fold>
void launch_fold(const KernelContext& c, const AxisView& view, const Lengths& lengths, void* workspace, const Fold& fold) {
  using Value = typename Fold::Value;
  const ColumnGrid grid = divided_column_grid(view, ColumnGrid::kMostThreads);
  if (grid.blocks == 0) return;
  const auto launch_on = [&](const ColumnGrid& own, int joins) {
    launch(c.stream, {own.blocks, own.threads(), own.shared(sizeof(Value)), own.lanes > 1}, &fold_kernel<Fold>, fold, own, view,
           lengths, static_cast<Value*>(workspace), joins);
  };
  launch_on(grid, 0);
  if (grid.parts > 1) launch_on(joining_grid(grid, view), grid.parts);
}
template <class Fold>
std::size_t folds_bytes(const AxisView& view) {
  return parts_bytes(divided_column_grid(view, ColumnGrid::kMostThreads), view, sizeof(typename Fold::Value));
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
