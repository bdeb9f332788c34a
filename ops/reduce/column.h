// Reductions along an axis on a device, from the point of view of a thread: for .cu files and for the text of generated
// kernels. No atomics: the order of an element's sum depends on the sizes alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/axis_view.h"
#include "runtime/cuda/primitives.h"

namespace graphrun {

// A block's threads are `results` columns (elements of the result) times `lanes`, which divide the positions of a column; both
// are powers of two. Adjacent threads read adjacent elements: along the axis if it is the last, else across columns. If there
// are few columns, each is divided into `parts`, which different blocks fold; a second launch joins their values.
struct ColumnGrid {
  static constexpr int kThreads = 256, kMostThreads = 1024;  // of a block; of one that takes a long column
  int lanes = 1, results = kThreads, parts = 1;
  bool along_axis = false;  // adjacent threads are lanes of one column
  std::int64_t blocks = 0;  // of all parts

  int threads() const { return lanes * results; }  // of a block
  // Bytes of shared memory that the lanes of all columns need to combine their values.
  std::size_t shared(std::size_t value_bytes) const {
    return lanes == 1 ? 0 : value_bytes * static_cast<std::size_t>(threads());
  }
};

namespace cuda {

// The best element so far and its position; -1: none yet.
template <class T, class Position = std::int64_t>
struct Best {
  T value;
  Position position;
};

// The value of another thread of the warp (cuda::word_of_other).
template <class T>
GRAPHRUN_DEVICE T of_other(T mine, int distance) {
  constexpr int kWords = sizeof(T) / sizeof(unsigned);
  static_assert(kWords * sizeof(unsigned) == sizeof(T));
  union {
    T value;
    unsigned words[kWords];
  } word = {mine};
  GRAPHRUN_UNROLL
  for (int w = 0; w < kWords; ++w) word.words[w] = word_of_other(word.words[w], distance);
  return word.value;
}
template <class T, class Position>
GRAPHRUN_DEVICE Best<T, Position> of_other(Best<T, Position> mine, int distance) {
  return {of_other(mine.value, distance), of_other(mine.position, distance)};
}

// A thread's share of a column's part: lane `lane` of `lanes` takes positions begin + lane, begin + lane + lanes, … below
// `end`. The positions below the column's length `n` are divided among the parts.
struct Column {
  ColumnGrid grid;
  AxisView view;
  std::int64_t result = 0, n = 0, begin = 0, end = 0;
  std::int64_t first = 0;  // the index in the tensor of position 0
  int lane = 0, part = 0;
  bool exists = false;

  GRAPHRUN_DEVICE Column(const ColumnGrid& g, const AxisView& v, const Lengths& lengths) : grid(g), view(v) {
    const int t = thread_index();
    const long long block = g.parts == 1 ? block_index() : block_index() / g.parts;
    lane = g.along_axis ? t & (g.lanes - 1) : t / g.results;  // a division costs more than a short fold
    result = block * g.results + (g.along_axis ? (g.results == 1 ? 0 : t / g.lanes) : t & (g.results - 1));
    exists = result < v.outer * v.inner;
    first = v.inner == 1 ? result * v.n : result / v.inner * v.n * v.inner + result % v.inner;
    n = end = exists ? lengths.at(result) : 0;
    if (g.parts == 1) return;
    part = static_cast<int>(block_index() % g.parts);
    begin = n * part / g.parts, end = n * (part + 1) / g.parts;
  }

  // The place of this part's value among those of all parts of all columns.
  GRAPHRUN_DEVICE std::int64_t place() const { return result * grid.parts + part; }

  GRAPHRUN_DEVICE bool leads() const { return exists && lane == 0; }
  // The index of a position in the tensor.
  GRAPHRUN_DEVICE std::int64_t at(std::int64_t position) const { return first + position * view.inner; }

  // Calls take(value, index in the tensor, position) for the part's positions from `start`; join(a, b) combines the values of
  // two lanes. Every lane gets the part's value. All threads of the block must call it. `together`: take() takes as many
  // consecutive positions, from the given one on; the lengths of columns and the bounds of parts are multiples of it.
  template <int together = 1, class V, class Take, class Join>
  GRAPHRUN_DEVICE V fold(V start, const Take& take, const Join& join) const {
    V value = start;
    const std::int64_t last = end / together;
    for (std::int64_t g = begin / together + lane; g < last; g += grid.lanes)
      value = take(value, at(g * together), g * together);
    return joined(value, join);
  }

  // Calls visit(index, position, whether it is below the length) for all positions of a column that is not divided.
  template <class Visit>
  GRAPHRUN_DEVICE void each(const Visit& visit) const {
    if (!exists) return;
    for (std::int64_t a = lane; a < view.n; a += grid.lanes) visit(at(a), a, a < n);
  }

  // Combines the values of the column's lanes; every lane gets the result. All threads of the block must call it.
  template <class V, class Join>
  GRAPHRUN_DEVICE V joined(V value, const Join& join) const {
    if (grid.lanes == 1) return value;
    if constexpr (sizeof(V) % sizeof(unsigned) == 0 && sizeof(V) <= 16) {
      if (grid.along_axis) return joined_by_warps(value, join);
    }
    V* shared = static_cast<V*>(shared_memory());
    const int t = thread_index(), step = grid.along_axis ? 1 : grid.results;
    barrier();  // all threads have read the previous contents
    shared[t] = value;
    for (int half = grid.lanes / 2; half > 0; half /= 2) {
      barrier();
      if (lane < half) shared[t] = join(shared[t], shared[t + half * step]);
    }
    barrier();
    return shared[t - lane * step];
  }

 private:
  static constexpr int kWarp = 32;

  // Adjacent threads are lanes of one column: those of a warp pass each other their values, and a warp's value goes through
  // shared memory if a column has several. A barrier for each halving would take longer than the rest of a short fold.
  template <class V, class Join>
  GRAPHRUN_DEVICE V joined_by_warps(V value, const Join& join) const {
    value = joined_in_warp(value, grid.lanes < kWarp ? grid.lanes : kWarp, join);
    if (grid.lanes <= kWarp) return value;
    V* shared = static_cast<V*>(shared_memory());
    const int t = thread_index(), warps = grid.lanes / kWarp;
    barrier();  // all threads have read the previous contents
    if (t % kWarp == 0) shared[t / kWarp] = value;
    barrier();
    return joined_in_warp(shared[(t - lane) / kWarp + (lane & (warps - 1))], warps, join);
  }
  // The lower lane's value is always the left one, so that all lanes get the same bits.
  template <class V, class Join>
  GRAPHRUN_DEVICE V joined_in_warp(V value, int lanes, const Join& join) const {
    for (int distance = 1; distance < lanes; distance *= 2) {
      const V other = of_other(value, distance);
      value = (lane & distance) != 0 ? join(other, value) : join(value, other);
    }
    return value;
  }
};

// One launch of a fold whose columns may be divided into parts. It folds elements; or, if `joins` > 0, the values of that many
// parts of each column, which the previous launch stored in `parts`. take and join are as for Column::fold. One thread calls
// write(column, value) for each column that is complete. All threads of the block must call it. `together` as for Column::fold.
template <int together = 1, class V, class Take, class Join, class Write>
GRAPHRUN_DEVICE void fold_columns(const ColumnGrid& grid, const AxisView& view, const Lengths& lengths, V* parts, int joins,
                                  const V& start, const Take& take, const Join& join, const Write& write) {
  const AxisView of_parts = {view.results(), joins, 1};
  Column c(grid, joins > 0 ? of_parts : view, joins > 0 ? Lengths{nullptr, 1, joins} : lengths);
  const auto take_part = [&](const V& so_far, std::int64_t at, std::int64_t) { return join(so_far, parts[at]); };
  const V total = joins > 0 ? c.fold(start, take_part, join) : c.fold<together>(start, take, join);
  if (!c.leads()) return;
  if (grid.parts > 1) {
    parts[c.place()] = total;
    return;
  }
  c.n = lengths.at(c.result);
  write(c, total);
}

// Combines two values so that a NaN wins over every number.
template <class T>
GRAPHRUN_DEVICE T larger(T a, T b) {
  return b > a || b != b ? b : a;
}
template <class T>
GRAPHRUN_DEVICE T smaller(T a, T b) {
  return b < a || b != b ? b : a;
}
// The value to subtract before taking exponentials.
template <class T>
GRAPHRUN_DEVICE T finite_or_zero(T most) {
  return most - most == T(0) ? most : T(0);
}

// The better of the two: the first among equals; NaN wins over every number. Without branches, which cost a device more than
// the comparisons.
template <bool kMax, class T, class Position>
GRAPHRUN_DEVICE Best<T, Position> better(Best<T, Position> a, Best<T, Position> b) {
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  const bool equal = (a.value == b.value) | (a_is_nan & b_is_nan);
  const bool beats = !a_is_nan & !(kMax ? b.value <= a.value : b.value >= a.value);
  const bool wins = (a.position < 0) | ((b.position >= 0) & (beats | (equal & (b.position < a.position))));
  return {wins ? b.value : a.value, wins ? b.position : a.position};
}
// The same for an element at a position after all positions so far.
template <bool kMax, class T, class Position>
GRAPHRUN_DEVICE Best<T, Position> better_of_next(Best<T, Position> a, T x, Position position) {
  const bool beats = (a.value == a.value) & !(kMax ? x <= a.value : x >= a.value);
  const bool wins = (a.position < 0) | beats;
  return {wins ? x : a.value, wins ? position : a.position};
}

struct Add {
  template <class V>
  GRAPHRUN_DEVICE V operator()(V a, V b) const {
    return a + b;
  }
};

}  // namespace cuda
}  // namespace graphrun
