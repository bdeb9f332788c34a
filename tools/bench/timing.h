// What measurements share: times, medians and tensors of random numbers.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/execute/profiler.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

inline double milliseconds(std::int64_t begin) { return static_cast<double>(Profiler::now() - begin) / 1e6; }

inline double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x.empty() ? 0 : x[x.size() / 2];
}

// FLOAT32, uniform between -size and size; the same numbers for the same seed.
inline Tensor random_tensor(const Sizes& sizes, double size, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  Tensor t(DType::kFloat32, sizes);
  for (float& x : t.span<float>()) x = static_cast<float>(size * (static_cast<double>(random()) / 2147483648.0 - 1));
  return t;
}

}  // namespace graphrun
