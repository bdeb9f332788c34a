#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/optimizer/update.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "ops/optimizer/update.h"
#include "ops/pointwise/functions-inl.h"

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

template <class T>
void sgd(const SgdUpdate<T>& u, std::int64_t begin, std::int64_t end) {
  const Vec<T> rate = u.rate;
  const auto next = [&](Vec<T> p, Vec<T> g) HWY_ATTR -> Vec<T> { return hn::NegMulAdd(rate.v, g.v, p.v); };
  each_vector<T>(
      begin, end, [&](std::int64_t i) HWY_ATTR { store(next(load(u.p + i), load(u.g + i)), u.p_next + i); },
      [&](std::int64_t i, std::size_t n)
          HWY_ATTR { store_first(next(load_first(u.p + i, n), load_first(u.g + i, n)), u.p_next + i, n); });
}

template <class T>
struct AdamState {
  Vec<T> p, m, v;
};

template <class T>
void adam(const AdamUpdate<T>& u, std::int64_t begin, std::int64_t end) {
  const Vec<T> rate = u.rate, scale = u.scale, beta1 = u.beta1, beta2 = u.beta2, rest1 = 1 - u.beta1, rest2 = 1 - u.beta2;
  const Vec<T> m_factor = u.m_factor, v_factor = u.v_factor, epsilon = u.epsilon;
  const auto next = [&](AdamState<T> s, Vec<T> gradient) HWY_ATTR -> AdamState<T> {
    const Vec<T> g = scale * gradient;
    const Vec<T> m = hn::MulAdd(beta1.v, s.m.v, (rest1 * g).v), v = hn::MulAdd(beta2.v, s.v.v, (rest2 * g * g).v);
    return {s.p - rate * (m * m_factor) / (sqrt(v * v_factor) + epsilon), m, v};
  };
  each_vector<T>(
      begin, end,
      [&](std::int64_t i) HWY_ATTR {
        const AdamState<T> s = next({load(u.p + i), load(u.m + i), load(u.v + i)}, load(u.g + i));
        store(s.p, u.p_next + i), store(s.m, u.m_next + i), store(s.v, u.v_next + i);
      },
      [&](std::int64_t i, std::size_t n) HWY_ATTR {
        const AdamState<T> s =
            next({load_first(u.p + i, n), load_first(u.m + i, n), load_first(u.v + i, n)}, load_first(u.g + i, n));
        store_first(s.p, u.p_next + i, n), store_first(s.m, u.m_next + i, n), store_first(s.v, u.v_next + i, n);
      });
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

void sgd_float(const SgdUpdate<float>& u, std::int64_t begin, std::int64_t end) { sgd(u, begin, end); }
void sgd_double(const SgdUpdate<double>& u, std::int64_t begin, std::int64_t end) { sgd(u, begin, end); }
void adam_float(const AdamUpdate<float>& u, std::int64_t begin, std::int64_t end) { adam(u, begin, end); }
void adam_double(const AdamUpdate<double>& u, std::int64_t begin, std::int64_t end) { adam(u, begin, end); }
double squares_float(const float* x, std::size_t n) { return squares(x, n); }
double squares_double(const double* x, std::size_t n) { return squares(x, n); }
bool finite_float(const float* x, std::size_t n) { return finite(x, n); }
bool finite_double(const double* x, std::size_t n) { return finite(x, n); }

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(sgd_float);
HWY_EXPORT(sgd_double);
HWY_EXPORT(adam_float);
HWY_EXPORT(adam_double);
HWY_EXPORT(squares_float);
HWY_EXPORT(squares_double);
HWY_EXPORT(finite_float);
HWY_EXPORT(finite_double);

void update(const SgdUpdate<float>& u, std::int64_t begin, std::int64_t end) { HWY_DYNAMIC_DISPATCH(sgd_float)(u, begin, end); }
void update(const SgdUpdate<double>& u, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(sgd_double)(u, begin, end);
}
void update(const AdamUpdate<float>& u, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(adam_float)(u, begin, end);
}
void update(const AdamUpdate<double>& u, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(adam_double)(u, begin, end);
}
double sum_of_squares(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(squares_float)(x, n); }
double sum_of_squares(const double* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(squares_double)(x, n); }
bool all_finite(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(finite_float)(x, n); }
bool all_finite(const double* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(finite_double)(x, n); }

}  // namespace graphrun
#endif
