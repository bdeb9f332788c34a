// Reductions along an axis on a device: for .cu files. No atomics: an element's sum is made in an order that follows from the
// sizes alone.
#pragma once

#include <limits>

#include "ops/reduce/column_grid.h"
#include "runtime/cuda/launch.h"

namespace graphrun::cuda {

// A thread's part of a column: lane `lane` of `lanes` takes positions lane, lane + lanes, … below `n`, the column's length.
struct Column {
  ColumnGrid grid;
  AxisView view;
  std::int64_t result = 0, n = 0;
  int lane = 0;
  bool exists = false;

  GRAPHRUN_DEVICE Column(const ColumnGrid& g, const AxisView& v, const Lengths& lengths) : grid(g), view(v) {
    const int t = thread_index();
    lane = g.along_axis ? t % g.lanes : t / g.results;
    result = block_index() * g.results + (g.along_axis ? t / g.lanes : t % g.results);
    exists = result < v.outer * v.inner;
    n = exists ? lengths.at(result) : 0;
  }

  GRAPHRUN_DEVICE bool leads() const { return exists && lane == 0; }
  // Of a position, in the tensor.
  GRAPHRUN_DEVICE std::int64_t at(std::int64_t position) const {
    return (result / view.inner * view.n + position) * view.inner + result % view.inner;
  }

  // take(value, place in the tensor, position) over the column's positions from `start` on; join(a, b) puts two lanes' values
  // together. Every lane gets the column's value. All threads of the block must call it.
  template <class V, class Take, class Join>
  GRAPHRUN_DEVICE V fold(V start, const Take& take, const Join& join) const {
    V value = start;
    for (std::int64_t a = lane; a < n; a += grid.lanes) value = take(value, at(a), a);
    return joined(value, join);
  }

  // visit(place, position, whether it is below the length) for all positions.
  template <class Visit>
  GRAPHRUN_DEVICE void each(const Visit& visit) const {
    if (!exists) return;
    for (std::int64_t a = lane; a < view.n; a += grid.lanes) visit(at(a), a, a < n);
  }

 private:
  template <class V, class Join>
  GRAPHRUN_DEVICE V joined(V value, const Join& join) const {
    if (grid.lanes == 1) return value;
    V* shared = static_cast<V*>(shared_memory());
    const int t = thread_index(), step = grid.along_axis ? 1 : grid.results;
    barrier();  // what stood there has been read by all
    shared[t] = value;
    for (int half = grid.lanes / 2; half > 0; half /= 2) {
      barrier();
      if (lane < half) shared[t] = join(shared[t], shared[t + half * step]);
    }
    barrier();
    return shared[t - lane * step];
  }
};

template <class Body>
GRAPHRUN_GLOBAL void columns_kernel(Body body, ColumnGrid grid, AxisView view, Lengths lengths) {
  body(Column(grid, view, lengths));
}

// body(column) for every column of the view; its folds are of values of at most `value_bytes`.
template <class Body>
void for_columns(const KernelContext& c, const AxisView& view, const Lengths& lengths, std::size_t value_bytes,
                 const Body& body) {
  const ColumnGrid grid = column_grid(view);
  if (grid.blocks == 0) return;
  launch(c.stream, {grid.blocks, ColumnGrid::kThreads, grid.shared(value_bytes), grid.lanes > 1}, &columns_kernel<Body>, body,
         grid, view, lengths);
}

// What stands for two values where a NaN wins over every number.
template <class T>
GRAPHRUN_DEVICE T larger(T a, T b) {
  return b > a || b != b ? b : a;
}
template <class T>
GRAPHRUN_DEVICE T smaller(T a, T b) {
  return b < a || b != b ? b : a;
}
// What is subtracted before exponents are taken.
template <class T>
GRAPHRUN_DEVICE T finite_or_zero(T most) {
  return most - most == T(0) ? most : T(0);
}

// The start of maxima and minima.
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

struct Add {
  template <class V>
  GRAPHRUN_DEVICE V operator()(V a, V b) const {
    return a + b;
  }
};

}  // namespace graphrun::cuda
