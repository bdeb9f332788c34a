// Normalization of rows to mean 0 and variance 1, vectorized.
#pragma once

#include <cstdint>

namespace graphrun {

// Rows [begin, end) of tensors [rows, width].
template <class T>
struct NormalizeTask {
  const T* x = nullptr;
  const T* gain = nullptr;  // [width] or null: 1
  const T* bias = nullptr;  // [width] or null: 0
  const T* g = nullptr;     // backward: the gradient of the result
  T* out = nullptr;
  std::int64_t width = 0;
  T epsilon = 0;
  std::int64_t begin = 0, end = 0;
};

// out = gain * (x - mean) / sqrt(variance + epsilon) + bias
void normalize_rows(const NormalizeTask<float>& task);
void normalize_rows(const NormalizeTask<double>& task);
// With n = (x - mean) * r, r = 1 / sqrt(variance + epsilon), h = g * gain: out = r * (h - mean(h) - n * mean(h * n)).
void normalize_gradient_rows(const NormalizeTask<float>& task);
void normalize_gradient_rows(const NormalizeTask<double>& task);

}  // namespace graphrun
