// Adafactor (Shazeer & Stern 2018): what its kernels on the CPU and on CUDA share. For a matrix it keeps the means of squared
// gradients of each row and each column, from which it estimates the mean square of an element (their Algorithm 4); for a
// vector it keeps the mean squares themselves (Algorithm 5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/base/attributes.h"
#include "runtime/cuda/primitives.h"

namespace graphrun {

struct AdafactorSettings {
  double l2, weight_decay, beta1, beta2_decay, epsilon1, epsilon2, clip;
  bool relative_step, scale_parameter;
};
inline AdafactorSettings adafactor_settings(const Attributes& a) {
  // Slots are float32. A smaller epsilon1 would leave 0 where the gradient is 0, and the step divides by the slot's root.
  const double epsilon1 = std::max(a.number("epsilon1"), static_cast<double>(std::numeric_limits<float>::min()));
  return {a.number("l2"),       a.number("weight_decay"), a.number("beta1"),          a.number("beta2_decay"),     epsilon1,
          a.number("epsilon2"), a.number("clip"),         a.boolean("relative_step"), a.boolean("scale_parameter")};
}

// The numbers of one update, in double.
struct AdafactorNumbers {
  double scale = 1;   // factor of the gradient
  double shrink = 0;  // the fraction of p that weight decay subtracts
  double keep = 0;    // the decay of the means: 1 - t^-beta2_decay
  double step = 0;    // the length of the step before it is scaled by the parameter's
};
GRAPHRUN_DEVICE AdafactorNumbers adafactor_numbers(const AdafactorSettings& s, double rate, double scale, double t) {
  const double least = 1 / ::sqrt(t);
  return {scale, rate * s.weight_decay, 1 - ::pow(t, -s.beta2_decay), s.relative_step && least < rate ? least : rate};
}

// The length of the step, from the mean squares of the parameter's elements and of the unclipped steps.
struct AdafactorLength {
  double clip = 1;  // limits the root mean square of the steps to the setting `clip`
  double step = 0;
};
GRAPHRUN_DEVICE AdafactorLength adafactor_length(const AdafactorSettings& s, const AdafactorNumbers& n, double parameters,
                                                 double steps) {
  const double size = ::sqrt(parameters), length = ::sqrt(steps) / s.clip;
  return {length > 1    ? 1 / length
          : length <= 1 ? 1.0
                        : length,  // NaN stays
          s.scale_parameter ? n.step * (size < s.epsilon2 ? s.epsilon2 : size) : n.step};
}

// g' = scale * g + l2 * p.
template <class T>
struct AdafactorGradient {
  T l2, scale;
  GRAPHRUN_DEVICE T operator()(T p, T g) const { return l2 * p + scale * g; }
};

// One parameter: [matrices, rows, columns] if it has rows and columns; otherwise just `columns` elements.
template <class T>
struct AdafactorTask {
  const T *p = nullptr, *g = nullptr;
  T* p_next = nullptr;
  const T *s = nullptr, *c = nullptr, *m = nullptr;  // slots; c: null without rows and columns; m: null without momentum
  T *s_next = nullptr, *c_next = nullptr, *m_next = nullptr;
  T *row_factor = nullptr,
    *column_factor = nullptr;  // 1 / √(s' / mean s') and 1 / √c': their product divides by √(s' c' / mean)
  std::int64_t matrices = 1, rows = 1, columns = 0;
  AdafactorSettings settings{};

  std::int64_t count() const { return matrices * rows * columns; }
  GRAPHRUN_DEVICE bool factored() const { return c_next != nullptr; }
  GRAPHRUN_DEVICE AdafactorGradient<T> gradient(const AdafactorNumbers& n) const {
    return {static_cast<T>(settings.l2), static_cast<T>(n.scale)};
  }
  GRAPHRUN_DEVICE T gradient(const AdafactorNumbers& n, std::int64_t i) const { return gradient(n)(p[i], g[i]); }
};

}  // namespace graphrun
