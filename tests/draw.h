// Random choices that are the same on every machine for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

namespace graphrun::tests {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  // In [0, n).
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  int between(int first, int last) { return first + static_cast<int>(below(static_cast<std::size_t>(last - first + 1))); }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  const auto& any(const List& of) {
    return of[below(std::size(of))];
  }
  // What comes later more often than what came first.
  template <class T>
  const T& late(const std::vector<T>& of) {
    const std::size_t n = of.size(), a = below(n), b = below(n);
    return of[a > b ? a : b];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace graphrun::tests
