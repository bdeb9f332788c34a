// topk of float rows, vectorized.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/index/topk_row.h"

namespace graphrun {

// Computes values and indices [rows, k] of contiguous rows of n elements, as topk_row does.
struct TopkTask {
  const float* x = nullptr;
  float* values = nullptr;
  std::int32_t* indices = nullptr;
  std::int64_t rows = 0, n = 0, k = 0;
};
void topk_rows(const TopkTask& task);

// The same for any type.
template <class T>
void topk_rows(const T* x, std::int64_t rows, std::int64_t n, T* values, std::int32_t* indices, std::int64_t k) {
  if constexpr (std::is_same_v<T, float>) {
    topk_rows({x, values, indices, rows, n, k});
  } else {
    for (std::int64_t r = 0; r < rows; ++r) topk_row(x + r * n, n, values + r * k, indices + r * k, k);
  }
}

}  // namespace graphrun
