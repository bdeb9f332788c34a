#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/optimizer/update.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "ops/optimizer/update.h"
#include "ops/simd_export.h"
#include "ops/tiles/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE Vec<T> load(const T* from) {
  return hn::LoadU(Tag<T>(), from);
}
template <class T>
HWY_INLINE void store(Vec<T> v, T* to) {
  hn::StoreU(v.v, Tag<T>(), to);
}

// Runs whole(i) for whole vectors of [begin, end) and rest(i, count) for the rest.
template <class T, class Whole, class Rest>
HWY_INLINE void each_vector(std::int64_t begin, std::int64_t end, const Whole& whole, const Rest& rest) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes) whole(i);
  if (i < end) rest(i, static_cast<std::size_t>(end - i));
}

template <class T>
HWY_INLINE Vec<T> mul_add(Vec<T> a, Vec<T> b, Vec<T> c) {
  return hn::MulAdd(a.v, b.v, c.v);
}
template <class T>
HWY_INLINE Vec<T> neg_mul_add(Vec<T> a, Vec<T> b, Vec<T> c) {
  return hn::NegMulAdd(a.v, b.v, c.v);
}

#define RULE_FUNCTION HWY_INLINE
#include "ops/optimizer/steps-inl.h"

// visit(slot, its number) for each slot of a rule.
#define RULE(name, ...)                                                                                   \
  template <class V, class F>                                                                             \
  HWY_INLINE void for_each_slot([[maybe_unused]] Rule_##name<V>& rule, [[maybe_unused]] const F& visit) { \
    using Slots [[maybe_unused]] = Slots_##name;
#define SLOT(slot, ...) visit(rule.slot, static_cast<int>(Slots::slot));
#define END() }
#include "ops/optimizer/table.def"

// One pass over the elements of a task: next(p, g) is p'.
template <class T, class Numbers, class Rule, class Next>
HWY_INLINE void sweep(const UpdateTask<T, Numbers>& u, Rule& rule, const Next& next) {
  each_vector<T>(
      u.begin, u.end,
      [&](std::int64_t i) HWY_ATTR {
        for_each_slot(rule, [&](Vec<T>& slot, int k) HWY_ATTR { slot = load(u.slot[k] + i); });
        store(next(load(u.p + i), load(u.g + i)), u.p_next + i);
        for_each_slot(rule, [&](Vec<T>& slot, int k) HWY_ATTR { store(slot, u.slot_next[k] + i); });
      },
      [&](std::int64_t i, std::size_t n) HWY_ATTR {
        for_each_slot(rule, [&](Vec<T>& slot, int k) HWY_ATTR { slot = load_first(u.slot[k] + i, n); });
        store_first(next(load_first(u.p + i, n), load_first(u.g + i, n)), u.p_next + i, n);
        for_each_slot(rule, [&](Vec<T>& slot, int k) HWY_ATTR { store_first(slot, u.slot_next[k] + i, n); });
      });
}

template <template <class> class RuleOf, class T, class Numbers>
HWY_INLINE void sweep_by_rule(const UpdateTask<T, Numbers>& u) {
  RuleOf<Vec<T>> rule{u.numbers};
  if constexpr (requires(Vec<T> v) { rule.without_decay(v, v); }) {
    if (u.l2 == 0 && u.weight_decay == 0)
      return sweep(u, rule, [&](Vec<T> p, Vec<T> g) HWY_ATTR -> Vec<T> { return rule.without_decay(p, g); });
  }
  const Vec<T> scale = u.numbers.scale, l2 = u.l2, shrink = u.numbers.rate * u.weight_decay;
  sweep(u, rule, [&](Vec<T> p, Vec<T> gradient) HWY_ATTR -> Vec<T> {
    return p - mul_add(shrink, p, rule.step(mul_add(l2, p, scale * gradient)));
  });
}

#define RULE(name, ...)                         \
  template <class T>                            \
  void update_##name(const Task_##name<T>& u) { \
    sweep_by_rule<Rule_##name>(u);              \
  }
#include "ops/optimizer/table.def"

template <class T>
void blend(const BlendTask<T>& u) {
  const Vec<T> a = u.a, b = u.b;
  const bool reads = u.a != 0;  // 0 * x would keep values that are not finite
  const auto next = [&](Vec<T> x, Vec<T> z) HWY_ATTR -> Vec<T> { return reads ? mul_add(a, x, b * z) : b * z; };
  each_vector<T>(
      u.begin, u.end, [&](std::int64_t i) HWY_ATTR { store(next(load(u.x + i), load(u.z + i)), u.y + i); },
      [&](std::int64_t i, std::size_t n)
          HWY_ATTR { store_first(next(load_first(u.x + i, n), load_first(u.z + i, n)), u.y + i, n); });
}

// Eight independent sums in float64 hide the latency of additions: element i is added to sum i % 8, whatever the width of
// vectors.
template <class T>
double squares(const T* x, std::size_t n) {
  double sum[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sum[k] += static_cast<double>(x[i + k]) * static_cast<double>(x[i + k]);
  }
  for (std::size_t k = 0; i < n; ++i, ++k) sum[k] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

// x * 0 is 0 only for finite x; otherwise it is NaN, and so is the sum.
template <class T>
bool finite(const T* x, std::size_t n) {
  const auto lanes = static_cast<std::size_t>(hn::Lanes(Tag<T>()));
  Vec<T> sum = 0;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = sum + load(x + i) * 0;
  if (i < n) sum = sum + load_first(x + i, n - i) * 0;
  return hn::AllTrue(Tag<T>(), (sum == 0).m);
}

}  // namespace

#define RULE(name, ...) GRAPHRUN_SIMD_OP(update_##name, Task_##name)
#include "ops/optimizer/table.def"
GRAPHRUN_SIMD_OP(blend, BlendTask)
double squares_float(const float* x, std::size_t n) { return squares(x, n); }
bool finite_float(const float* x, std::size_t n) { return finite(x, n); }

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

#define RULE(name, ...) GRAPHRUN_SIMD_EXPORT_AS(update, update_##name, Task_##name)
#include "ops/optimizer/table.def"
GRAPHRUN_SIMD_EXPORT(blend, BlendTask)
HWY_EXPORT(squares_float);
HWY_EXPORT(finite_float);

double sum_of_squares(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(squares_float)(x, n); }
double sum_of_squares(const double* x, std::size_t n) { return HWY_NAMESPACE::squares(x, n); }
bool all_finite(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(finite_float)(x, n); }
bool all_finite(const double* x, std::size_t n) { return HWY_NAMESPACE::finite(x, n); }

}  // namespace graphrun
#endif
