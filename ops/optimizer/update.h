// What an optimizer computes for each element, one pass over its buffers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphrun {

// p_next = p - rate * g. p_next may be p.
template <class T>
struct SgdUpdate {
  const T* p;
  const T* g;
  T* p_next;
  double rate;
};
void update(const SgdUpdate<float>& u, std::int64_t begin, std::int64_t end);
void update(const SgdUpdate<double>& u, std::int64_t begin, std::int64_t end);

// m_next = beta1 m + (1 - beta1) g', v_next = beta2 v + (1 - beta2) g'², with g' = scale * g,
// p_next = p - rate * (m_next * m_factor) / (sqrt(v_next * v_factor) + epsilon). Each may lie over the buffer it follows.
template <class T>
struct AdamUpdate {
  const T* p;
  const T* g;
  const T* m;
  const T* v;
  T* p_next;
  T* m_next;
  T* v_next;
  double rate, scale, beta1, beta2, epsilon, m_factor, v_factor;
};
void update(const AdamUpdate<float>& u, std::int64_t begin, std::int64_t end);
void update(const AdamUpdate<double>& u, std::int64_t begin, std::int64_t end);

// Sum of the squares of n elements, in float64.
double sum_of_squares(const float* x, std::size_t n);
double sum_of_squares(const double* x, std::size_t n);
// No element is infinite or NaN.
bool all_finite(const float* x, std::size_t n);
bool all_finite(const double* x, std::size_t n);

}  // namespace graphrun
