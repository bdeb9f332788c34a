// Reductions down the columns of a strip (ops/reduce/columns.h), in registers of adjacent columns. The last columns of a row
// use a masked register, so that narrow and odd widths cost what whole registers do. Included once for each instruction set by
// the files that follow the pattern of ops/simd_export.h.
#if defined(GRAPHRUN_REDUCE_COLUMN_GROUPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAPHRUN_REDUCE_COLUMN_GROUPS_INL_H
#undef GRAPHRUN_REDUCE_COLUMN_GROUPS_INL_H
#else
#define GRAPHRUN_REDUCE_COLUMN_GROUPS_INL_H
#endif

#include <cstdint>
#include <type_traits>

#include "ops/reduce/columns.h"
#include "ops/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {

// A register of adjacent columns; at the end of a row, only the first `count` of them.
template <class T>
struct AllLanes {
  HWY_INLINE Vec<T> load(const T* from) const { return hn::LoadU(Tag<T>(), from); }
  HWY_INLINE void store(Vec<T> v, T* to) const { hn::StoreU(v.v, Tag<T>(), to); }
};
template <class T>
struct FirstLanes {
  std::size_t count;
  HWY_INLINE Vec<T> load(const T* from) const { return load_first(from, count); }
  HWY_INLINE void store(Vec<T> v, T* to) const { store_first(v, to, count); }
};

// N registers of adjacent columns of a strip, with their rows: the accumulators stay in registers and are independent of each
// other. kPart: the last register has only its first `last` columns.
template <int N, bool kPart, class T>
struct ColumnGroup {
  const T* x;           // row 0
  std::int64_t stride;  // between rows
  std::int64_t rows;    // in the longest column
  const T* limit;       // the lengths of the columns; null: all positions are real
  std::int64_t result;  // index of the first column's element in the results
  std::size_t last = hn::Lanes(Tag<T>());

  static constexpr int kRegisters = N;
  static std::int64_t at(int k) { return k * static_cast<std::int64_t>(hn::Lanes(Tag<T>())); }

  // Loads register k of a row, with 0 in lanes that are not columns.
  HWY_INLINE Vec<T> load(const T* row, int k) const {
    return kPart && k == N - 1 ? FirstLanes<T>{last}.load(row + at(k)) : AllLanes<T>().load(row + at(k));
  }
  HWY_INLINE void store(Vec<T> v, T* row, int k) const {
    if (kPart && k == N - 1)
      FirstLanes<T>{last}.store(v, row + at(k));
    else
      AllLanes<T>().store(v, row + at(k));
  }

  // to[k] = join(to[k], element, k, a) for the rows a below the columns' lengths.
  template <class Join>
  HWY_INLINE void fold(Vec<T> (&to)[N], const Join& join) const {
    for (std::int64_t a = 0; a < rows; ++a) {
      const T* row = x + a * stride;
#pragma GCC unroll 4
      for (int k = 0; k < N; ++k) {
        const Vec<T> joined = join(to[k], load(row, k), k, a);
        to[k] = limit == nullptr ? joined : select(is_real(k, a), joined, to[k]);
      }
    }
  }
  HWY_INLINE Mask<T> is_real(int k, std::int64_t a) const {
    return {hn::Lt(hn::Set(Tag<T>(), static_cast<T>(a)), load(limit, k).v)};
  }
  // Stores from[k] as the columns' results, or 0 if a column has no rows.
  HWY_INLINE void store(const Vec<T> (&from)[N], T* out) const {
#pragma GCC unroll 4
    for (int k = 0; k < N; ++k) {
      const Vec<T> v = limit == nullptr ? (rows > 0 ? from[k] : Vec<T>(0)) : select(is_real(k, 0), from[k], Vec<T>(0));
      store(v, out + result, k);
    }
  }
};

// Calls visit(group) for groups that make up the strip: groups of four registers, then one group for the rest.
template <class T, class Visit>
HWY_INLINE void for_column_groups(const ReduceTask<T>& task, const Strip& strip, const Visit& visit) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  const T* x = task.x + strip.at(task.view, 0);
  const auto run = [&](const T* limits, std::int64_t rows) HWY_ATTR {
    const auto limit = [&](std::int64_t i) { return limits == nullptr ? nullptr : limits + i; };
    std::int64_t i = 0;
    for (; i + 4 * lanes <= strip.width; i += 4 * lanes) {
      visit(ColumnGroup<4, false, T>{x + i, task.view.inner, rows, limit(i), strip.result + i});
    }
    if (i == strip.width) return;
    const std::int64_t before = (strip.width - i - 1) / lanes;  // whole registers
    const auto rest = [&](auto registers) HWY_ATTR {
      visit(ColumnGroup<registers(), true, T>{x + i, task.view.inner, rows, limit(i), strip.result + i,
                                              static_cast<std::size_t>(strip.width - i - before * lanes)});
    };
    switch (before) {
      case 0: rest(std::integral_constant<int, 1>()); return;
      case 1: rest(std::integral_constant<int, 2>()); return;
      case 2: rest(std::integral_constant<int, 3>()); return;
      default: rest(std::integral_constant<int, 4>()); return;
    }
  };
  if (!task.lengths.present()) return run(nullptr, task.view.n);
  const StripLimits<T> limits(strip, task.lengths);
  run(limits.limit, limits.most);
}

// Calls row(result, elements, count) if the axis is the last, else columns(group), for the units of a task.
template <class T, class Row, class Columns>
HWY_INLINE void fold_units(const ReduceTask<T>& task, const Row& row, const Columns& columns) {
  for (std::int64_t unit = task.begin; unit < task.end; ++unit) {
    if (task.by_rows()) {
      row(unit, task.x + unit * task.view.n, task.lengths.at(unit));
    } else {
      for_column_groups(task, Strip(task.view, unit), columns);
    }
  }
}

template <int N, class T>
HWY_INLINE void fill(Vec<T> (&v)[N], T number) {
#pragma GCC unroll 4
  for (int k = 0; k < N; ++k) v[k] = number;
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#endif  // per target
