// The numbers that numpy.random.default_rng draws, so that what is drawn here is what sacreBLEU draws.
#pragma once

#include <cstdint>

namespace graphrun {

// PCG64 (O'Neill 2014), seeded as NumPy's SeedSequence does.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint64_t seed);
  // Evenly from 0 to below `limit` (Lemire 2019), as Generator.integers(limit) and Generator.choice(limit) do. `limit` is at
  // least 1.
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
