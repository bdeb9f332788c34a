// What an optimizer computes for each element, one pass over its buffers. The formulas stand with the ops (adaptive.cc,
// momentum.cc); p_next and slot_next may lie over p and slot.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphrun {

// Elements [begin, end) of one parameter. The rules see g' = scale * g + l2 * p and say how far p moves beside the
// rate * weight_decay * p that every rule takes off.
template <class T, class Rule>
struct UpdateTask {
  static constexpr int kMostSlots = 2;
  const T* p = nullptr;
  const T* g = nullptr;
  T* p_next = nullptr;
  const T* slot[kMostSlots] = {};
  T* slot_next[kMostSlots] = {};
  double rate = 0, scale = 1, l2 = 0, weight_decay = 0;
  Rule rule;
  std::int64_t begin = 0, end = 0;
};

struct SgdRule {
  static constexpr int kSlots = 0;
};
struct MomentumRule {
  static constexpr int kSlots = 1;  // velocity
  double momentum;
  bool nesterov;
};
struct AdagradRule {
  static constexpr int kSlots = 1;  // sum of squares
  double initial, epsilon;
};
struct AdadeltaRule {
  static constexpr int kSlots = 2;  // mean squares of gradients and of steps
  double rho, epsilon;
};
struct RmspropRule {
  static constexpr int kSlots = 1;  // mean square
  double rho, epsilon;
};
struct AdamRule {
  static constexpr int kSlots = 2;  // means of gradients and of their squares
  double beta1, beta2, epsilon;
  double m_factor, v_factor;  // 1 / (1 - betaᵗ)
};

template <class T>
using SgdTask = UpdateTask<T, SgdRule>;
template <class T>
using MomentumTask = UpdateTask<T, MomentumRule>;
template <class T>
using AdagradTask = UpdateTask<T, AdagradRule>;
template <class T>
using AdadeltaTask = UpdateTask<T, AdadeltaRule>;
template <class T>
using RmspropTask = UpdateTask<T, RmspropRule>;
template <class T>
using AdamTask = UpdateTask<T, AdamRule>;

// y[i] = a x[i] + b z[i] over [begin, end); y may be x. With a = 0, x is not read.
template <class T>
struct BlendTask {
  const T* x;
  const T* z;
  T* y;
  double a, b;
  std::int64_t begin, end;
};

#define GRAPHRUN_UPDATE(Task)        \
  void update(const Task<float>& u); \
  void update(const Task<double>& u);
GRAPHRUN_UPDATE(SgdTask)
GRAPHRUN_UPDATE(MomentumTask)
GRAPHRUN_UPDATE(AdagradTask)
GRAPHRUN_UPDATE(AdadeltaTask)
GRAPHRUN_UPDATE(RmspropTask)
GRAPHRUN_UPDATE(AdamTask)
#undef GRAPHRUN_UPDATE
void blend(const BlendTask<float>& u);
void blend(const BlendTask<double>& u);

// Sum of the squares of n elements, in float64.
double sum_of_squares(const float* x, std::size_t n);
double sum_of_squares(const double* x, std::size_t n);
// No element is infinite or NaN.
bool all_finite(const float* x, std::size_t n);
bool all_finite(const double* x, std::size_t n);

}  // namespace graphrun
