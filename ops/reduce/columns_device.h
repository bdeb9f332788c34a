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

// What a fold computes: Value start(); Value take(Value, index in the tensor, position); Value join(Value, Value); and
// write(column, value), called by one thread for each column.
template <class Fold>
GRAPHRUN_GLOBAL void fold_kernel(Fold fold, ColumnGrid grid, AxisView view, Lengths lengths, typename Fold::Value* parts) {
  using Value = typename Fold::Value;
  const Column c(grid, view, lengths);
  const Value total = c.fold(
      fold.start(), [&](Value so_far, std::int64_t at, std::int64_t position) { return fold.take(so_far, at, position); },
      [&](Value a, Value b) { return fold.join(a, b); });
  if (!c.leads()) return;
  if (grid.parts == 1) return fold.write(c, total);
  parts[c.place()] = total;
}
template <class Fold>
GRAPHRUN_GLOBAL void join_kernel(Fold fold, ColumnGrid grid, AxisView view, Lengths lengths,
                                 const typename Fold::Value* parts) {
  using Value = typename Fold::Value;
  Column c(grid, view, {nullptr, 1, view.n});
  const auto join = [&](Value a, Value b) { return fold.join(a, b); };
  const Value total = c.fold(
      fold.start(), [&](Value so_far, std::int64_t at, std::int64_t) { return fold.join(so_far, parts[at]); }, join);
  if (!c.leads()) return;
  c.n = lengths.at(c.result);
  fold.write(c, total);
}

// Folds every column of the view. `workspace` has the bytes that folds_bytes() returns.
template <class Fold>
void fold_columns(const KernelContext& c, const AxisView& view, const Lengths& lengths, void* workspace, const Fold& fold) {
  using Value = typename Fold::Value;
  const ColumnGrid grid = divided_column_grid(view);
  if (grid.blocks == 0) return;
  auto* const parts = static_cast<Value*>(workspace);
  launch(c.stream, {grid.blocks, ColumnGrid::kThreads, grid.shared(sizeof(Value)), grid.lanes > 1}, &fold_kernel<Fold>, fold,
         grid, view, lengths, parts);
  if (grid.parts == 1) return;
  const AxisView of_parts = parts_view(grid, view);
  const ColumnGrid joining = column_grid(of_parts);
  launch(c.stream, {joining.blocks, ColumnGrid::kThreads, joining.shared(sizeof(Value)), joining.lanes > 1}, &join_kernel<Fold>,
         fold, joining, of_parts, lengths, static_cast<const Value*>(parts));
}
template <class Fold>
std::size_t folds_bytes(const AxisView& view) {
  return parts_bytes(divided_column_grid(view), view, sizeof(typename Fold::Value));
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
