// The random numbers of numpy.random.default_rng, to draw the same samples as sacreBLEU.
#pragma once

#include <cstdint>

namespace graphrun {

// PCG64 (O'Neill 2014), seeded by NumPy's SeedSequence.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint64_t seed);
  // Uniform in [0, limit) (Lemire 2019), like Generator.integers(limit) and Generator.choice(limit). `limit` must be at least
  // 1.
  std::uint32_t below(std::uint32_t limit);

 private:
  struct Wide {
    std::uint64_t high = 0, low = 0;
  };
  static Wide add(Wide a, Wide b);
  static Wide multiply(Wide a, Wide b);
  void advance();
  std::uint32_t next();

  Wide state_, increment_;
  std::uint32_t kept_ = 0;  // the other half of the last number
  bool has_kept_ = false;
};

}  // namespace graphrun
