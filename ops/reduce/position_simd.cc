#include "ops/reduce/position_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/position_simd.cc"
#include "hwy/foreach_target.h"
#include "ops/reduce/column_groups-inl.h"
#include "ops/reduce/extreme.h"
#include "ops/simd_export.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {

// Where `x` replaces the best so far; either may be a NaN.
template <bool kMax, class T>
HWY_INLINE Mask<T> is_better(Vec<T> x, Vec<T> best) {
  const auto ahead = kMax ? hn::Gt(x.v, best.v) : hn::Lt(x.v, best.v);
  return {hn::Or(ahead, hn::AndNot(hn::IsNaN(best.v), hn::IsNaN(x.v)))};
}

// The best of each column of a group and its position, stored as a float: exact, because axes are short enough (run_units).
template <class T, int N>
struct Extremes {
  Vec<T> best[N], at[N];
};

// Ignores NaNs, so that each row waits for only one instruction of the previous row; returns false if there was one.
template <bool kMax, bool kLimited, class T, class Group, int N>
HWY_INLINE bool find_ordered(const Group& group, Extremes<T, N>& found) {
  Vec<T> best[N], at[N], here = 0;
  fill(best, kMax ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity());
  fill(at, T{0});
  Mask<T> unordered = here != here;
  for (std::int64_t a = 0; a < group.rows; ++a) {
    const T* row = group.x + a * group.stride;
#pragma GCC unroll 4
    for (int k = 0; k < N; ++k) {
      const Vec<T> x = group.load(row, k);
      Mask<T> better = kMax ? x > best[k] : x < best[k], nan = {hn::IsNaN(x.v)};
      Vec<T> joined = kMax ? hn::Max(best[k].v, x.v) : hn::Min(best[k].v, x.v);
      if constexpr (kLimited) {
        const Mask<T> real = here < group.load(group.limit, k);
        better = {hn::And(better.m, real.m)}, nan = {hn::And(nan.m, real.m)};
        joined = select(real, joined, best[k]);
      }
      at[k] = select(better, here, at[k]);
      best[k] = joined;
      unordered = {hn::Or(unordered.m, nan.m)};
    }
    here = here + Vec<T>(1);
  }
#pragma GCC unroll 4
  for (int k = 0; k < N; ++k) found.best[k] = best[k], found.at[k] = at[k];
  return hn::AllFalse(Tag<T>(), unordered.m);
}

// The same, for any input including NaNs.
template <bool kMax, class T, class Group, int N>
HWY_INLINE void find_any(const Group& group, Extremes<T, N>& found) {
  fill(found.best, kMax ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity());
  fill(found.at, T{0});
  group.fold(found.best, [&](Vec<T> so_far, Vec<T> x, int k, std::int64_t a) HWY_ATTR {
    const Mask<T> better = is_better<kMax>(x, so_far);
    const Vec<T> moved = select(better, Vec<T>(a), found.at[k]);
    found.at[k] = group.limit == nullptr ? moved : select(group.is_real(k, a), moved, found.at[k]);
    return select(better, x, so_far);
  });
}

template <class T, class Group>
HWY_INLINE void store_positions(const Group& group, Vec<T> at, std::int32_t* positions, int k) {
  const std::size_t count = k == Group::kRegisters - 1 ? group.last : hn::Lanes(Tag<T>());
  if constexpr (sizeof(T) == sizeof(std::int32_t)) {
    store_first<std::int32_t>(hn::ConvertTo(Tag<std::int32_t>(), at.v), positions + group.at(k), count);
  } else {
    Lanes<T> found;
    hn::Store(at.v, Tag<T>(), found.lane);
    for (std::size_t i = 0; i < count; ++i)
      positions[group.at(k) + static_cast<std::int64_t>(i)] = static_cast<std::int32_t>(found.lane[i]);
  }
}

template <bool kMax, class T>
HWY_INLINE void position_along(const ReduceTask<T>& task) {
  fold_units(
      task,
      [&](std::int64_t r, const T* x, std::int64_t n) HWY_ATTR {
        const std::int64_t at = n == 0 ? 0 : first_extreme<kMax>(x, n);
        task.positions[r] = static_cast<std::int32_t>(at);
        if (task.out != nullptr) task.out[r] = n == 0 ? T{0} : x[at];
      },
      [&](const auto& group) HWY_ATTR {
        Extremes<T, group.kRegisters> extremes;
        const bool ordered =
            group.limit == nullptr ? find_ordered<kMax, false>(group, extremes) : find_ordered<kMax, true>(group, extremes);
        if (!ordered) find_any<kMax>(group, extremes);
        if (task.out != nullptr) group.store(extremes.best, task.out);
        for (int k = 0; k < group.kRegisters; ++k) store_positions(group, extremes.at[k], task.positions + group.result, k);
      });
}

template <class T>
void argmax_along(const ReduceTask<T>& task) {
  position_along<true>(task);
}
template <class T>
void argmin_along(const ReduceTask<T>& task) {
  position_along<false>(task);
}

GRAPHRUN_SIMD_OP(argmax_along, ReduceTask)
GRAPHRUN_SIMD_OP(argmin_along, ReduceTask)

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {
GRAPHRUN_SIMD_EXPORT(argmax_along, ReduceTask)
GRAPHRUN_SIMD_EXPORT(argmin_along, ReduceTask)
}  // namespace graphrun
#endif
