#include "ops/reduce/fold_simd.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/fold_simd.cc"
#include "hwy/foreach_target.h"
#include "ops/reduce/column_groups-inl.h"
#include "ops/simd-inl.h"
#include "ops/simd_export.h"
#include "ops/tiles/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {

// One or more registers: whole registers, then the rest under a mask.
template <class T>
HWY_INLINE T sum_short_row(const T* x, std::int64_t n) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vec<T> total = 0;
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) total = total + Vec<T>(hn::LoadU(d, x + i));
  if (i < n) total = total + load_first(x + i, static_cast<std::size_t>(n - i));
  return hn::GetLane(hn::SumOfLanes(d, total.v));
}

template <class T>
void sum_along(const ReduceTask<T>& task) {
  constexpr std::int64_t kShort = 128;
  fold_units(
      task,
      [&](std::int64_t r, const T* x, std::int64_t n) HWY_ATTR {
        task.out[r] = n <= kShort ? sum_short_row(x, n)
                                  : sum_row<T>(n, [&](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
      },
      [&](const auto& group) HWY_ATTR {
        Vec<T> total[group.kRegisters];
        fill(total, T{0});
        group.fold(total, [](Vec<T> sum, Vec<T> x, int, std::int64_t) HWY_ATTR { return sum + x; });
        group.store(total, task.out);
      });
}

// Max or min: `from` is the identity of the fold; the result is 0 if there are no positions.
template <class T, class Row, class Join>
HWY_INLINE void extreme_along(const ReduceTask<T>& task, T from, const Row& row, const Join& join) {
  fold_units(
      task, [&](std::int64_t r, const T* x, std::int64_t n) HWY_ATTR { task.out[r] = n == 0 ? T{0} : row(x, n); },
      [&](const auto& group) HWY_ATTR {
        Vec<T> most[group.kRegisters];
        fill(most, from);
        group.fold(most, [&](Vec<T> so_far, Vec<T> x, int, std::int64_t) HWY_ATTR { return Vec<T>(join(so_far.v, x.v)); });
        group.store(most, task.out);
      });
}

template <class T>
void max_along(const ReduceTask<T>& task) {
  extreme_along(
      task, -std::numeric_limits<T>::infinity(), [](const T* x, std::int64_t n) HWY_ATTR { return max_row(x, n); },
      [](auto most, auto x) HWY_ATTR { return larger(most, x); });
}

template <class T>
void min_along(const ReduceTask<T>& task) {
  extreme_along(
      task, std::numeric_limits<T>::infinity(), [](const T* x, std::int64_t n) HWY_ATTR { return min_row(x, n); },
      [](auto least, auto x) HWY_ATTR { return smaller(least, x); });
}

template <class T>
void logsumexp_along(const ReduceTask<T>& task) {
  fold_units(
      task,
      [&](std::int64_t r, const T* x, std::int64_t n) HWY_ATTR {
        const T shift = finite_or_zero(max_row(x, n));
        task.out[r] = n == 0 ? T{0} : shift + std::log(sum_exp_row(x, n, shift));
      },
      [&](const auto& group) HWY_ATTR {
        Vec<T> shift[group.kRegisters], total[group.kRegisters];
        fill(shift, -std::numeric_limits<T>::infinity());
        fill(total, T{0});
        group.fold(shift, [](Vec<T> most, Vec<T> x, int, std::int64_t) HWY_ATTR { return Vec<T>(larger(most.v, x.v)); });
#pragma GCC unroll 4
        for (Vec<T>& s : shift) s = select(s - s == 0, s, 0);  // if not finite, use 0
        group.fold(total, [&](Vec<T> sum, Vec<T> x, int k, std::int64_t) HWY_ATTR { return sum + exp(x - shift[k]); });
#pragma GCC unroll 4
        for (int k = 0; k < group.kRegisters; ++k) total[k] = shift[k] + log(total[k]);
        group.store(total, task.out);
      });
}

// out[i] = join(out[i], x[i]).
template <class T, class Join>
HWY_INLINE void join_rows(const ReduceTask<T>& task, const Join& join) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  const auto run = [&](const auto& access, std::int64_t i)
                       HWY_ATTR { access.store(join(access.load(task.out + i), access.load(task.x + i)), task.out + i); };
  std::int64_t i = task.begin;
  for (; i + lanes <= task.end; i += lanes) run(AllLanes<T>(), i);
  if (i < task.end) run(FirstLanes<T>{static_cast<std::size_t>(task.end - i)}, i);
}

template <class T>
void sum_into(const ReduceTask<T>& task) {
  join_rows(task, [](Vec<T> a, Vec<T> b) HWY_ATTR { return a + b; });
}
template <class T>
void max_into(const ReduceTask<T>& task) {
  join_rows(task, [](Vec<T> a, Vec<T> b) HWY_ATTR { return Vec<T>(larger(a.v, b.v)); });
}
template <class T>
void min_into(const ReduceTask<T>& task) {
  join_rows(task, [](Vec<T> a, Vec<T> b) HWY_ATTR { return Vec<T>(smaller(a.v, b.v)); });
}
template <class T>
void logsumexp_into(const ReduceTask<T>& task) {
  join_rows(task, [](Vec<T> a, Vec<T> b) HWY_ATTR {
    const Vec<T> most = larger(a.v, b.v), shift = select(most - most == 0, most, 0);
    return shift + log(exp(a - shift) + exp(b - shift));
  });
}

GRAPHRUN_SIMD_OP(sum_along, ReduceTask)
GRAPHRUN_SIMD_OP(max_along, ReduceTask)
GRAPHRUN_SIMD_OP(min_along, ReduceTask)
GRAPHRUN_SIMD_OP(logsumexp_along, ReduceTask)
GRAPHRUN_SIMD_OP(sum_into, ReduceTask)
GRAPHRUN_SIMD_OP(max_into, ReduceTask)
GRAPHRUN_SIMD_OP(min_into, ReduceTask)
GRAPHRUN_SIMD_OP(logsumexp_into, ReduceTask)

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {
GRAPHRUN_SIMD_EXPORT(sum_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(max_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(min_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(logsumexp_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(sum_into, ReduceTask)
GRAPHRUN_SIMD_EXPORT(max_into, ReduceTask)
GRAPHRUN_SIMD_EXPORT(min_into, ReduceTask)
GRAPHRUN_SIMD_EXPORT(logsumexp_into, ReduceTask)
}  // namespace graphrun
#endif
