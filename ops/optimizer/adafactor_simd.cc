#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/optimizer/adafactor_simd.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>

#include "hwy/highway.h"
#include "ops/optimizer/adafactor_simd.h"
#include "ops/simd_export.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {

// Eight independent sums in double: element i is added to sum i % 8, whatever the width of vectors.
struct EightSums {
  double sum[8] = {};
  HWY_INLINE double total() const { return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])); }
};

// visit(i, k) for i over [0, n), k = i % 8.
template <class Visit>
HWY_INLINE void by_eights(std::int64_t n, const Visit& visit) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::int64_t k = 0; k < 8; ++k) visit(i + k, k);
  }
  for (std::int64_t k = 0; i < n; ++i, ++k) visit(i, k);
}

HWY_INLINE double squared(double x) { return x * x; }

template <class T>
HWY_INLINE T mixed(double keep, T old, double mean) {
  return static_cast<T>(keep * static_cast<double>(old) + (1 - keep) * mean);
}

// 1 / √x of one element.
template <class T>
HWY_INLINE T inverse_root(T x) {
  return T{1} / std::sqrt(x);
}

template <class T>
void adafactor_rows(const AdafactorPart<T>& part) {
  const AdafactorTask<T>& t = part.task;
  const std::int64_t n = t.columns;
  const AdafactorGradient<T> gradient = t.gradient(part.numbers);
  double* const columns = part.columns;
  std::fill_n(columns, n, 0.0);
  EightSums parameters;
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    const T *const p = t.p + row * n, *const g = t.g + row * n;
    EightSums squares;
    by_eights(n, [&](std::int64_t i, std::int64_t k) HWY_ATTR {
      const double square = squared(static_cast<double>(gradient(p[i], g[i])));
      columns[i] += square;
      squares.sum[k] += square;
      parameters.sum[k] += squared(static_cast<double>(p[i]));
    });
    t.s_next[row] = mixed(part.numbers.keep, t.s[row], squares.total() / static_cast<double>(n) + t.settings.epsilon1);
  }
  *part.parameters = parameters.total();
}

template <class T>
void adafactor_steps(const AdafactorPart<T>& part) {
  const AdafactorTask<T>& t = part.task;
  const std::int64_t n = t.columns;
  const AdafactorGradient<T> gradient = t.gradient(part.numbers);
  EightSums steps;
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    const T *const p = t.p + row * n, *const g = t.g + row * n, *const columns = t.column_factor + row / t.rows * n;
    const T factor = t.row_factor[row];
    by_eights(n, [&](std::int64_t i, std::int64_t k)
                     HWY_ATTR { steps.sum[k] += squared(static_cast<double>(gradient(p[i], g[i]) * factor * columns[i])); });
  }
  *part.steps = steps.total();
}

template <class T>
void adafactor_elements(const AdafactorPart<T>& part) {
  const AdafactorTask<T>& t = part.task;
  const AdafactorGradient<T> gradient = t.gradient(part.numbers);
  const T *const p = t.p + part.begin, *const g = t.g + part.begin, *const s = t.s + part.begin;
  T* const s_next = t.s_next + part.begin;
  EightSums parameters, steps;
  by_eights(part.end - part.begin, [&](std::int64_t i, std::int64_t k) HWY_ATTR {
    const T penalized = gradient(p[i], g[i]);
    const T next = mixed(part.numbers.keep, s[i], squared(static_cast<double>(penalized)) + t.settings.epsilon1);
    s_next[i] = next;
    steps.sum[k] += squared(static_cast<double>(penalized * inverse_root(next)));
    parameters.sum[k] += squared(static_cast<double>(p[i]));
  });
  *part.parameters = parameters.total();
  *part.steps = steps.total();
}

// Moves n elements from `first` on; step(i, gradient) is the unclipped step.
template <class T, class Step>
HWY_INLINE void move(const AdafactorPart<T>& part, std::int64_t first, std::int64_t n, const Step& step) {
  const AdafactorTask<T>& t = part.task;
  const AdafactorGradient<T> gradient = t.gradient(part.numbers);
  const T shrink = static_cast<T>(part.numbers.shrink);
  const T *const p = t.p + first, *const g = t.g + first;
  T* const p_next = t.p_next + first;
  if (t.m == nullptr) {
    const T length = static_cast<T>(part.length.step * part.length.clip);
    for (std::int64_t i = 0; i < n; ++i) p_next[i] = p[i] - (shrink * p[i] + length * step(i, gradient(p[i], g[i])));
    return;
  }
  const T length = static_cast<T>(part.length.step), clip = static_cast<T>((1 - t.settings.beta1) * part.length.clip);
  const T beta1 = static_cast<T>(t.settings.beta1);
  const T* const m = t.m + first;
  T* const m_next = t.m_next + first;
  for (std::int64_t i = 0; i < n; ++i) {
    const T mean = beta1 * m[i] + clip * step(i, gradient(p[i], g[i]));
    m_next[i] = mean;
    p_next[i] = p[i] - (shrink * p[i] + length * mean);
  }
}

template <class T>
void adafactor_move(const AdafactorPart<T>& part) {
  const AdafactorTask<T>& t = part.task;
  if (!t.factored()) {
    const T* const s = t.s_next + part.begin;
    return move(part, part.begin, part.end - part.begin, [&](std::int64_t i, T g) HWY_ATTR { return g * inverse_root(s[i]); });
  }
  for (std::int64_t row = part.begin; row < part.end; ++row) {
    const T* const columns = t.column_factor + row / t.rows * t.columns;
    const T of_row = t.row_factor[row];
    move(part, row * t.columns, t.columns, [&](std::int64_t i, T g) HWY_ATTR { return g * of_row * columns[i]; });
  }
}

}  // namespace

GRAPHRUN_SIMD_OP(adafactor_rows, AdafactorPart)
GRAPHRUN_SIMD_OP(adafactor_steps, AdafactorPart)
GRAPHRUN_SIMD_OP(adafactor_elements, AdafactorPart)
GRAPHRUN_SIMD_OP(adafactor_move, AdafactorPart)

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

GRAPHRUN_SIMD_EXPORT(adafactor_rows, AdafactorPart)
GRAPHRUN_SIMD_EXPORT(adafactor_steps, AdafactorPart)
GRAPHRUN_SIMD_EXPORT(adafactor_elements, AdafactorPart)
GRAPHRUN_SIMD_EXPORT(adafactor_move, AdafactorPart)

}  // namespace graphrun
#endif
