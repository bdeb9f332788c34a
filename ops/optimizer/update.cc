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

// Runs whole(i) on whole vectors of [begin, end) and rest(i, count) on what is left.
template <class T, class Whole, class Rest>
HWY_INLINE void each_vector(std::int64_t begin, std::int64_t end, const Whole& whole, const Rest& rest) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes) whole(i);
  if (i < end) rest(i, static_cast<std::size_t>(end - i));
}

// One pass over the elements of a task. next(p, g, slots) moves p and slots, of which there are kSlots.
template <int kSlots, class T, class Rule, class Next>
HWY_INLINE void sweep(const UpdateTask<T, Rule>& u, const Next& next) {
  each_vector<T>(
      u.begin, u.end,
      [&](std::int64_t i) HWY_ATTR {
        Vec<T> p = load(u.p + i), slots[kSlots + 1];
        for (int k = 0; k < kSlots; ++k) slots[k] = load(u.slot[k] + i);
        next(p, load(u.g + i), slots);
        store(p, u.p_next + i);
        for (int k = 0; k < kSlots; ++k) store(slots[k], u.slot_next[k] + i);
      },
      [&](std::int64_t i, std::size_t n) HWY_ATTR {
        Vec<T> p = load_first(u.p + i, n), slots[kSlots + 1];
        for (int k = 0; k < kSlots; ++k) slots[k] = load_first(u.slot[k] + i, n);
        next(p, load_first(u.g + i, n), slots);
        store_first(p, u.p_next + i, n);
        for (int k = 0; k < kSlots; ++k) store_first(slots[k], u.slot_next[k] + i, n);
      });
}

// The same where the rule says how far p moves: step(g', slots), the rate in it.
template <class T, class Rule, class Step>
HWY_INLINE void sweep_steps(const UpdateTask<T, Rule>& u, const Step& step) {
  const Vec<T> scale = u.scale, l2 = u.l2, shrink = u.rate * u.weight_decay;
  sweep<Rule::kSlots>(u, [&](Vec<T>& p, Vec<T> gradient, Vec<T>* slots) HWY_ATTR {
    const Vec<T> g = hn::MulAdd(l2.v, p.v, (scale * gradient).v);
    p = p - Vec<T>(hn::MulAdd(shrink.v, p.v, step(g, slots).v));
  });
}

// a x + b y
template <class T>
HWY_INLINE Vec<T> mix(Vec<T> a, Vec<T> x, Vec<T> b, Vec<T> y) {
  return hn::MulAdd(a.v, x.v, (b * y).v);
}

template <class T>
void update_sgd(const SgdTask<T>& u) {
  const Vec<T> rate = u.rate, scaled = u.rate * u.scale;
  if (u.l2 == 0 && u.weight_decay == 0) {
    sweep<0>(u, [&](Vec<T>& p, Vec<T> g, Vec<T>*) HWY_ATTR { p = hn::NegMulAdd(scaled.v, g.v, p.v); });
  } else {
    sweep_steps(u, [&](Vec<T> g, Vec<T>*) HWY_ATTR -> Vec<T> { return rate * g; });
  }
}

template <class T>
void update_momentum(const MomentumTask<T>& u) {
  const Vec<T> rate = u.rate, momentum = u.rule.momentum;
  const bool nesterov = u.rule.nesterov;
  sweep_steps(u, [&](Vec<T> g, Vec<T>* slots) HWY_ATTR -> Vec<T> {
    slots[0] = hn::MulAdd(momentum.v, slots[0].v, g.v);
    return nesterov ? rate * Vec<T>(hn::MulAdd(momentum.v, slots[0].v, g.v)) : rate * slots[0];
  });
}

template <class T>
void update_adagrad(const AdagradTask<T>& u) {
  const Vec<T> rate = u.rate, initial = u.rule.initial, epsilon = u.rule.epsilon;
  sweep_steps(u, [&](Vec<T> g, Vec<T>* slots) HWY_ATTR -> Vec<T> {
    slots[0] = hn::MulAdd(g.v, g.v, slots[0].v);
    return rate * g / (sqrt(slots[0] + initial) + epsilon);
  });
}

template <class T>
void update_adadelta(const AdadeltaTask<T>& u) {
  const Vec<T> rate = u.rate, rho = u.rule.rho, rest = 1 - u.rule.rho, epsilon = u.rule.epsilon;
  sweep_steps(u, [&](Vec<T> g, Vec<T>* slots) HWY_ATTR -> Vec<T> {
    slots[0] = mix(rho, slots[0], rest, g * g);
    const Vec<T> step = sqrt(slots[1] + epsilon) / sqrt(slots[0] + epsilon) * g;
    slots[1] = mix(rho, slots[1], rest, step * step);
    return rate * step;
  });
}

template <class T>
void update_rmsprop(const RmspropTask<T>& u) {
  const Vec<T> rate = u.rate, rho = u.rule.rho, rest = 1 - u.rule.rho, epsilon = u.rule.epsilon;
  sweep_steps(u, [&](Vec<T> g, Vec<T>* slots) HWY_ATTR -> Vec<T> {
    slots[0] = mix(rho, slots[0], rest, g * g);
    return rate * g / (sqrt(slots[0]) + epsilon);
  });
}

template <class T>
void update_adam(const AdamTask<T>& u) {
  const AdamRule& r = u.rule;
  const Vec<T> rate = u.rate, beta1 = r.beta1, beta2 = r.beta2, rest1 = 1 - r.beta1, rest2 = 1 - r.beta2;
  const Vec<T> m_factor = r.m_factor, v_factor = r.v_factor, epsilon = r.epsilon;
  sweep_steps(u, [&](Vec<T> g, Vec<T>* slots) HWY_ATTR -> Vec<T> {
    slots[0] = mix(beta1, slots[0], rest1, g);
    slots[1] = hn::MulAdd(beta2.v, slots[1].v, (rest2 * g * g).v);
    return rate * (slots[0] * m_factor) / (sqrt(slots[1] * v_factor) + epsilon);
  });
}

template <class T>
void blend(const BlendTask<T>& u) {
  const Vec<T> a = u.a, b = u.b;
  const bool reads = u.a != 0;  // 0 * x would keep what is not finite
  const auto next = [&](Vec<T> x, Vec<T> z) HWY_ATTR -> Vec<T> { return reads ? mix(a, x, b, z) : b * z; };
  each_vector<T>(
      u.begin, u.end, [&](std::int64_t i) HWY_ATTR { store(next(load(u.x + i), load(u.z + i)), u.y + i); },
      [&](std::int64_t i, std::size_t n)
          HWY_ATTR { store_first(next(load_first(u.x + i, n), load_first(u.z + i, n)), u.y + i, n); });
}

// Sums in float64, eight independent ones for the additions' latency: element i goes to sum i % 8 whatever the vectors' width.
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

// x * 0 is 0 for finite x alone, and a sum of such products stays NaN.
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

GRAPHRUN_SIMD_OP(update_sgd, SgdTask)
GRAPHRUN_SIMD_OP(update_momentum, MomentumTask)
GRAPHRUN_SIMD_OP(update_adagrad, AdagradTask)
GRAPHRUN_SIMD_OP(update_adadelta, AdadeltaTask)
GRAPHRUN_SIMD_OP(update_rmsprop, RmspropTask)
GRAPHRUN_SIMD_OP(update_adam, AdamTask)
GRAPHRUN_SIMD_OP(blend, BlendTask)
double squares_float(const float* x, std::size_t n) { return squares(x, n); }
bool finite_float(const float* x, std::size_t n) { return finite(x, n); }

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

GRAPHRUN_SIMD_EXPORT_AS(update, update_sgd, SgdTask)
GRAPHRUN_SIMD_EXPORT_AS(update, update_momentum, MomentumTask)
GRAPHRUN_SIMD_EXPORT_AS(update, update_adagrad, AdagradTask)
GRAPHRUN_SIMD_EXPORT_AS(update, update_adadelta, AdadeltaTask)
GRAPHRUN_SIMD_EXPORT_AS(update, update_rmsprop, RmspropTask)
GRAPHRUN_SIMD_EXPORT_AS(update, update_adam, AdamTask)
GRAPHRUN_SIMD_EXPORT(blend, BlendTask)
HWY_EXPORT(squares_float);
HWY_EXPORT(finite_float);

double sum_of_squares(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(squares_float)(x, n); }
double sum_of_squares(const double* x, std::size_t n) { return HWY_NAMESPACE::squares(x, n); }
bool all_finite(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(finite_float)(x, n); }
bool all_finite(const double* x, std::size_t n) { return HWY_NAMESPACE::finite(x, n); }

}  // namespace graphrun
#endif
