// The order of topk, and how one thread finds a row's largest elements. Constexpr and free of library calls, so that device
// kernels can use it too.
#pragma once

#include <cstdint>

namespace graphrun {

// NaN is less than every number. Without branches, which cost a device more than the comparisons.
template <class T>
constexpr bool is_greater(T a, T b) {
  return (a > b) | ((b != b) & (a == a));
}

// Looks at every element.
struct LookAtAll {
  template <class T>
  constexpr std::int64_t operator()(std::int64_t i, T) const {
    return i;
  }
};

// Keeps the k largest elements so far in order, in the result itself; most elements of a long row are rejected by one
// comparison with the smallest of them. Among equal elements the first one comes first. `next(i, least)`: the first position
// from i on whose element may be greater than `least`, or n; vector code finds it faster.
template <class T, class Next = LookAtAll>
constexpr void topk_row(const T* x, std::int64_t n, T* values, std::int32_t* indices, std::int64_t k, const Next& next = {}) {
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (kept == k) {
      i = next(i, values[k - 1]);
      if (i >= n) return;
      if (x[i] <= values[k - 1] || !is_greater(x[i], values[k - 1])) continue;
    }
    std::int64_t place = kept < k ? kept++ : k - 1;
    for (; place > 0 && is_greater(x[i], values[place - 1]); --place) {
      values[place] = values[place - 1];
      indices[place] = indices[place - 1];
    }
    values[place] = x[i];
    indices[place] = static_cast<std::int32_t>(i);
  }
}

}  // namespace graphrun
