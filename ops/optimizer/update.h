// An optimizer's update: one pass over its buffers by the rules of ops/optimizer/table.def. p_next and slot_next may alias p
// and slot.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/optimizer/rules.h"

namespace graphrun {

// Elements [begin, end) of one parameter.
template <class T, class Numbers>
struct UpdateTask {
  static constexpr int kMostSlots = 2;
  static_assert(Numbers::Slots::kCount <= kMostSlots);
  const T* p = nullptr;
  const T* g = nullptr;
  T* p_next = nullptr;
  const T* slot[kMostSlots] = {};
  T* slot_next[kMostSlots] = {};
  double l2 = 0, weight_decay = 0;
  Numbers numbers;
  std::int64_t begin = 0, end = 0;
};

#define RULE(name, ...) \
  template <class T>    \
  using Task_##name = UpdateTask<T, Numbers_##name>;
#include "ops/optimizer/table.def"

// y[i] = a x[i] + b z[i] over [begin, end); y may be x. With a = 0, x is not read.
template <class T>
struct BlendTask {
  const T* x;
  const T* z;
  T* y;
  double a, b;
  std::int64_t begin, end;
};

#define RULE(name, ...)                     \
  void update(const Task_##name<float>& u); \
  void update(const Task_##name<double>& u);
#include "ops/optimizer/table.def"
void blend(const BlendTask<float>& u);
void blend(const BlendTask<double>& u);

// The sum of the squares of n elements, in float64.
double sum_of_squares(const float* x, std::size_t n);
double sum_of_squares(const double* x, std::size_t n);
// Whether no element is infinite or NaN.
bool all_finite(const float* x, std::size_t n);
bool all_finite(const double* x, std::size_t n);

}  // namespace graphrun
