// Adjacent elements that a device's thread reads and writes at once, and the positions of a broadcast operand's elements. For
// the text of generated kernels.
#pragma once

#include "ops/generated/device_draws.h"
#include "ops/generated/device_functions.h"

namespace graphrun::element {

template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
  T v[n];
};

// Loads from an address that is a multiple of the pack's size.
template <int n, class T>
GRAPHRUN_DEVICE Pack<T, n> load(const T* from) {
  cuda::check_aligned(from, sizeof(Pack<T, n>));
  return *reinterpret_cast<const Pack<T, n>*>(from);
}
template <int n, class T>
GRAPHRUN_DEVICE Pack<T, n> repeated(T x) {
  Pack<T, n> out;
  GRAPHRUN_UNROLL
  for (int j = 0; j < n; ++j) out.v[j] = x;
  return out;
}
template <int n, class T>
GRAPHRUN_DEVICE void store(T* to, const Pack<T, n>& x) {
  cuda::check_aligned(to, sizeof(Pack<T, n>));
  *reinterpret_cast<Pack<T, n>*>(to) = x;
}

// Whether dropout keeps elements i to i + n of a tensor; if rows consist of whole groups of four, one draw serves all of them.
template <int n>
GRAPHRUN_DEVICE Pack<std::uint8_t, n> stay(const DrawnTensor& draw, std::int64_t i) {
  Pack<std::uint8_t, n> out;
  if (n == 4 && draw.sizes[draw.axes - 1] % 4 == 0) {
    const Philox four = draws(draw, i);
    GRAPHRUN_UNROLL
    for (int j = 0; j < n; ++j) out.v[j] = four.v[j % 4] >> 8 >= draw.threshold ? 1 : 0;
  } else {
    for (int j = 0; j < n; ++j) out.v[j] = stays(draw, i + j);
  }
  return out;
}

}  // namespace graphrun::element
