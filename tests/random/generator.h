// Valid graphs, as text, from seeds: whatever seed, the result must check, compile and compute.
#pragma once

#include <cstdint>
#include <string>

#include "tests/random/coverage.h"

namespace graphrun::random_graphs {

struct Generated {
  std::string text;
  Coverage coverage;
};
Generated generate(std::uint64_t seed);

}  // namespace graphrun::random_graphs
