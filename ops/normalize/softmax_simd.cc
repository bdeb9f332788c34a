#include "ops/normalize/softmax_simd.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalize/softmax_simd.cc"
#include "hwy/foreach_target.h"
#include "ops/simd-inl.h"
#include "ops/simd_export.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {

// out[i] = value(d, i) along a row.
template <class T, class Value>
HWY_INLINE void map_row(T* out, std::int64_t n, const Value& value) {
  for_lanes<T>(n, [&](auto d, std::int64_t i) HWY_ATTR { hn::StoreU(value(d, i), d, out + i); });
}

// Calls real(d, index of the vector's first element in the tensor, i, mask) down the columns of a strip; the mask marks
// positions below the length.
template <class T, class Visit>
HWY_INLINE void visit_columns(const ReduceTask<T>& task, const Strip& strip, const StripLimits<T>& limits, std::int64_t n,
                              const Visit& visit) {
  for (std::int64_t a = 0; a < n; ++a) {
    const std::int64_t row = strip.at(task.view, a);
    for_lanes<T>(strip.width, [&](auto d, std::int64_t i) HWY_ATTR {
      visit(d, row + i, i, hn::Lt(hn::Set(d, static_cast<T>(a)), hn::LoadU(d, limits.limit + i)));
    });
  }
}

// out[i] = value at real positions, else 0, down all columns of a strip.
template <class T, class Value>
HWY_INLINE void map_columns(const ReduceTask<T>& task, const Strip& strip, const StripLimits<T>& limits, const Value& value) {
  visit_columns(task, strip, limits, task.view.n, [&](auto d, std::int64_t at, std::int64_t i, auto real) HWY_ATTR {
    hn::StoreU(hn::IfThenElseZero(real, value(d, at, i)), d, task.out + at);
  });
}

// total[i] += value at real positions.
template <class T, class Value>
HWY_INLINE void sum_columns(const ReduceTask<T>& task, const Strip& strip, const StripLimits<T>& limits, T* total,
                            const Value& value) {
  std::fill_n(total, strip.width, T{0});
  visit_columns(task, strip, limits, limits.most, [&](auto d, std::int64_t at, std::int64_t i, auto real) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, total + i), hn::IfThenElseZero(real, value(d, at, i))), d, total + i);
  });
}

// shift[i] = the maximum of the column, or 0 if that is not finite.
template <class T>
HWY_INLINE void shift_columns(const ReduceTask<T>& task, const Strip& strip, const StripLimits<T>& limits, T* shift) {
  std::fill_n(shift, strip.width, -std::numeric_limits<T>::infinity());
  visit_columns(task, strip, limits, limits.most, [&](auto d, std::int64_t at, std::int64_t i, auto real) HWY_ATTR {
    const auto most = hn::LoadU(d, shift + i);
    hn::StoreU(hn::IfThenElse(real, larger(most, hn::LoadU(d, task.x + at)), most), d, shift + i);
  });
  for (std::int64_t i = 0; i < strip.width; ++i) shift[i] = finite_or_zero(shift[i]);
}

// Calls row(unit's offset, length), followed by zeros, or columns(strip, limits), for the units of a task.
template <class T, class Row, class Columns>
HWY_INLINE void over_units(const ReduceTask<T>& task, const Row& row, const Columns& columns) {
  for (std::int64_t unit = task.begin; unit < task.end; ++unit) {
    if (task.by_rows()) {
      const std::int64_t n = task.lengths.at(unit), begin = unit * task.view.n;
      row(begin, n);
      std::fill(task.out + begin + n, task.out + begin + task.view.n, T{0});
      continue;
    }
    const Strip strip(task.view, unit);
    columns(strip, StripLimits<T>(strip, task.lengths));
  }
}

// 1 / total; if every exponential is 0 (no positions, or all -inf), the softmax is 0.
template <class T>
HWY_INLINE T reciprocal_or_zero(T total) {
  return total == T{0} ? T{0} : T{1} / total;
}

template <class T>
void softmax_along(const ReduceTask<T>& task) {
  over_units(
      task,
      [&](std::int64_t begin, std::int64_t n) HWY_ATTR {
        const T* x = task.x + begin;
        T* out = task.out + begin;
        const T scale = reciprocal_or_zero(exp_row(x, n, finite_or_zero(max_row(x, n)), out));
        map_row(out, n, [&](auto d, std::int64_t i) HWY_ATTR { return hn::Mul(hn::LoadU(d, out + i), hn::Set(d, scale)); });
      },
      [&](const Strip& strip, const StripLimits<T>& limits) HWY_ATTR {
        alignas(64) T shift[kStrip], total[kStrip];
        shift_columns(task, strip, limits, shift);
        sum_columns(task, strip, limits, total, [&](auto d, std::int64_t at, std::int64_t i) HWY_ATTR {
          const auto e = exp_of(d, hn::Sub(hn::LoadU(d, task.x + at), hn::LoadU(d, shift + i)));
          hn::StoreU(e, d, task.out + at);
          return e;
        });
        for (std::int64_t i = 0; i < strip.width; ++i) total[i] = reciprocal_or_zero(total[i]);
        // Positions beyond every length are uninitialized: the values read there are discarded.
        for (std::int64_t a = limits.most; a < task.view.n; ++a)
          std::fill_n(task.out + strip.at(task.view, a), strip.width, T{0});
        map_columns(task, strip, limits, [&](auto d, std::int64_t at, std::int64_t i) HWY_ATTR {
          return hn::Mul(hn::LoadU(d, task.out + at), hn::LoadU(d, total + i));
        });
      });
}

template <class T>
void log_softmax_along(const ReduceTask<T>& task) {
  over_units(
      task,
      [&](std::int64_t begin, std::int64_t n) HWY_ATTR {
        const T* x = task.x + begin;
        const T shift = finite_or_zero(max_row(x, n));
        const T log_total = shift + std::log(sum_exp_row(x, n, shift));
        map_row(task.out + begin, n,
                [&](auto d, std::int64_t i) HWY_ATTR { return hn::Sub(hn::LoadU(d, x + i), hn::Set(d, log_total)); });
      },
      [&](const Strip& strip, const StripLimits<T>& limits) HWY_ATTR {
        alignas(64) T shift[kStrip], total[kStrip];
        shift_columns(task, strip, limits, shift);
        sum_columns(task, strip, limits, total, [&](auto d, std::int64_t at, std::int64_t i) HWY_ATTR {
          return exp_of(d, hn::Sub(hn::LoadU(d, task.x + at), hn::LoadU(d, shift + i)));
        });
        for (std::int64_t i = 0; i < strip.width; ++i) total[i] = shift[i] + std::log(total[i]);
        map_columns(task, strip, limits, [&](auto d, std::int64_t at, std::int64_t i) HWY_ATTR {
          return hn::Sub(hn::LoadU(d, task.x + at), hn::LoadU(d, total + i));
        });
      });
}

template <class T>
void softmax_gradient_along(const ReduceTask<T>& task) {
  over_units(
      task,
      [&](std::int64_t begin, std::int64_t n) HWY_ATTR {
        const T *y = task.y + begin, *g = task.g + begin;
        const T dot = dot_row(y, g, n);
        map_row(task.out + begin, n, [&](auto d, std::int64_t i) HWY_ATTR {
          return hn::Mul(hn::LoadU(d, y + i), hn::Sub(hn::LoadU(d, g + i), hn::Set(d, dot)));
        });
      },
      [&](const Strip& strip, const StripLimits<T>& limits) HWY_ATTR {
        alignas(64) T dot[kStrip];
        sum_columns(task, strip, limits, dot, [&](auto d, std::int64_t at, std::int64_t) HWY_ATTR {
          return hn::Mul(hn::LoadU(d, task.y + at), hn::LoadU(d, task.g + at));
        });
        map_columns(task, strip, limits, [&](auto d, std::int64_t at, std::int64_t i) HWY_ATTR {
          return hn::Mul(hn::LoadU(d, task.y + at), hn::Sub(hn::LoadU(d, task.g + at), hn::LoadU(d, dot + i)));
        });
      });
}

template <class T>
void log_softmax_gradient_along(const ReduceTask<T>& task) {
  over_units(
      task,
      [&](std::int64_t begin, std::int64_t n) HWY_ATTR {
        const T *y = task.y + begin, *g = task.g + begin;
        const T total = sum_row<T>(n, [&](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, g + i); });
        map_row(task.out + begin, n, [&](auto d, std::int64_t i) HWY_ATTR {
          return hn::NegMulAdd(exp_of(d, hn::LoadU(d, y + i)), hn::Set(d, total), hn::LoadU(d, g + i));
        });
      },
      [&](const Strip& strip, const StripLimits<T>& limits) HWY_ATTR {
        alignas(64) T total[kStrip];
        sum_columns(task, strip, limits, total,
                    [&](auto d, std::int64_t at, std::int64_t) HWY_ATTR { return hn::LoadU(d, task.g + at); });
        map_columns(task, strip, limits, [&](auto d, std::int64_t at, std::int64_t i) HWY_ATTR {
          return hn::NegMulAdd(exp_of(d, hn::LoadU(d, task.y + at)), hn::LoadU(d, total + i), hn::LoadU(d, task.g + at));
        });
      });
}

GRAPHRUN_SIMD_OP(softmax_along, ReduceTask)
GRAPHRUN_SIMD_OP(log_softmax_along, ReduceTask)
GRAPHRUN_SIMD_OP(softmax_gradient_along, ReduceTask)
GRAPHRUN_SIMD_OP(log_softmax_gradient_along, ReduceTask)

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {
GRAPHRUN_SIMD_EXPORT(softmax_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(log_softmax_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(softmax_gradient_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(log_softmax_gradient_along, ReduceTask)
}  // namespace graphrun
#endif
