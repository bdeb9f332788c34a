#include "ops/reduce/fold_simd.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/fold_simd.cc"
#include "hwy/foreach_target.h"
#include "ops/simd-inl.h"
#include "ops/simd_export.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {

// accumulator[i] = join(accumulator[i], x[a, i]) down the columns of a strip, where a is below the column's length.
template <class T, class Join>
HWY_INLINE void fold_columns(const ReduceTask<T>& task, const Strip& strip, T* accumulator, const Join& join) {
  if (!task.lengths.present()) {
    for (std::int64_t a = 0; a < task.view.n; ++a) {
      const T* row = task.x + strip.at(task.view, a);
      for_lanes<T>(strip.width, [&](auto d, std::int64_t i) HWY_ATTR {
        hn::StoreU(join(d, hn::LoadU(d, accumulator + i), hn::LoadU(d, row + i), i), d, accumulator + i);
      });
    }
    return;
  }
  const StripLimits<T> limits(strip, task.lengths);
  for (std::int64_t a = 0; a < limits.most; ++a) {
    const T* row = task.x + strip.at(task.view, a);
    for_lanes<T>(strip.width, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto real = hn::Lt(hn::Set(d, static_cast<T>(a)), hn::LoadU(d, limits.limit + i));
      const auto before = hn::LoadU(d, accumulator + i);
      hn::StoreU(hn::IfThenElse(real, join(d, before, hn::LoadU(d, row + i), i), before), d, accumulator + i);
    });
  }
}

template <class T>
void sum_along(const ReduceTask<T>& task) {
  for (std::int64_t unit = task.begin; unit < task.end; ++unit) {
    if (task.view.inner == 1) {
      const T* x = task.x + unit * task.view.n;
      task.out[unit] = sum_row<T>(task.lengths.at(unit), [&](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
      continue;
    }
    const Strip strip(task.view, unit);
    T* out = task.out + strip.result;
    std::fill_n(out, strip.width, T{0});
    fold_columns(task, strip, out, [](auto, auto sum, auto x, std::int64_t) HWY_ATTR { return hn::Add(sum, x); });
  }
}

// Max or min: `from` is what an empty fold gives, replaced by 0 in the result.
template <class T, class Row, class Join>
HWY_INLINE void extreme_along(const ReduceTask<T>& task, T from, const Row& row, const Join& join) {
  for (std::int64_t unit = task.begin; unit < task.end; ++unit) {
    if (task.view.inner == 1) {
      const std::int64_t n = task.lengths.at(unit);
      task.out[unit] = n == 0 ? T{0} : row(task.x + unit * task.view.n, n);
      continue;
    }
    const Strip strip(task.view, unit);
    T* out = task.out + strip.result;
    std::fill_n(out, strip.width, from);
    fold_columns(task, strip, out, join);
    for (std::int64_t i = 0; i < strip.width; ++i) {
      if (task.lengths.at(strip.result + i) == 0) out[i] = T{0};
    }
  }
}

template <class T>
void max_along(const ReduceTask<T>& task) {
  extreme_along(
      task, -std::numeric_limits<T>::infinity(), [](const T* x, std::int64_t n) HWY_ATTR { return max_row(x, n); },
      [](auto, auto most, auto x, std::int64_t) HWY_ATTR { return larger(most, x); });
}

template <class T>
void min_along(const ReduceTask<T>& task) {
  extreme_along(
      task, std::numeric_limits<T>::infinity(), [](const T* x, std::int64_t n) HWY_ATTR { return min_row(x, n); },
      [](auto, auto least, auto x, std::int64_t) HWY_ATTR { return smaller(least, x); });
}

template <class T>
void logsumexp_along(const ReduceTask<T>& task) {
  for (std::int64_t unit = task.begin; unit < task.end; ++unit) {
    if (task.view.inner == 1) {
      const std::int64_t n = task.lengths.at(unit);
      const T* x = task.x + unit * task.view.n;
      const T shift = finite_or_zero(max_row(x, n));
      task.out[unit] = n == 0 ? T{0} : shift + std::log(sum_exp_row(x, n, shift));
      continue;
    }
    const Strip strip(task.view, unit);
    alignas(64) T shift[kStrip], total[kStrip];
    std::fill_n(shift, strip.width, -std::numeric_limits<T>::infinity());
    std::fill_n(total, strip.width, T{0});
    fold_columns(task, strip, shift, [](auto, auto most, auto x, std::int64_t) HWY_ATTR { return larger(most, x); });
    for (std::int64_t i = 0; i < strip.width; ++i) shift[i] = finite_or_zero(shift[i]);
    fold_columns(task, strip, total, [&](auto d, auto sum, auto x, std::int64_t i) HWY_ATTR {
      return hn::Add(sum, exp_of(d, hn::Sub(x, hn::LoadU(d, shift + i))));
    });
    for (std::int64_t i = 0; i < strip.width; ++i) {
      task.out[strip.result + i] = task.lengths.at(strip.result + i) == 0 ? T{0} : shift[i] + std::log(total[i]);
    }
  }
}

GRAPHRUN_SIMD_OP(sum_along, ReduceTask)
GRAPHRUN_SIMD_OP(max_along, ReduceTask)
GRAPHRUN_SIMD_OP(min_along, ReduceTask)
GRAPHRUN_SIMD_OP(logsumexp_along, ReduceTask)

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {
GRAPHRUN_SIMD_EXPORT(sum_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(max_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(min_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(logsumexp_along, ReduceTask)
}  // namespace graphrun
#endif
