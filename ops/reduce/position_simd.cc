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

// Where `x` takes the place of the best so far.
template <bool kMax, class T>
HWY_INLINE hn::Mask<Tag<T>> is_better(Vec<T> x, Vec<T> best) {
  const auto ahead = kMax ? hn::Gt(x.v, best.v) : hn::Lt(x.v, best.v);
  return hn::Or(ahead, hn::AndNot(hn::IsNaN(best.v), hn::IsNaN(x.v)));
}

template <bool kMax, class T>
HWY_INLINE void position_along(const ReduceTask<T>& task) {
  constexpr T kWorst = kMax ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  fold_units(
      task,
      [&](std::int64_t r, const T* x, std::int64_t n)
          HWY_ATTR { task.positions[r] = n == 0 ? 0 : static_cast<std::int32_t>(first_extreme<kMax>(x, n)); },
      [&](const auto& group) HWY_ATTR {
        // Positions as floats: exact, because axes are not that long (run_units).
        Vec<T> best[group.kRegisters], at[group.kRegisters];
        fill(best, kWorst);
        fill(at, T{0});
        group.fold(best, [&](Vec<T> so_far, Vec<T> x, int k, std::int64_t a) HWY_ATTR {
          const Mask<T> better = {is_better<kMax>(x, so_far)};
          const Vec<T> moved = select(better, Vec<T>(a), at[k]);
          at[k] = group.limit == nullptr ? moved : select(group.is_real(k, a), moved, at[k]);
          return select(better, x, so_far);
        });
        T found[HWY_MAX_BYTES / sizeof(T) * group.kRegisters] = {};
        const std::int64_t columns = group.columns();
        for (int k = 0; k < group.kRegisters; ++k) hn::StoreU(at[k].v, Tag<T>(), found + group.at(k));
        for (std::int64_t i = 0; i < columns; ++i) task.positions[group.result + i] = static_cast<std::int32_t>(found[i]);
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
