// Random choices that are the same on every machine.
#pragma once

#include <cstddef>
#include <random>

namespace graphrun::mutants {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // From 0 to n - 1; n at least 1.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  const auto& any(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace graphrun::mutants
