// Generates valid graphs, as text, from seeds: for every seed, the result must check, compile and compute.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compiler/generation.h"
#include "tests/random/coverage.h"

namespace graphrun::random_graphs {

struct Generated {
  std::string text;  // in one file
  // The same graph split over several files, by name; "random.pbtxt" imports the others. Empty if nothing could be moved.
  std::map<std::string, std::string> files = {};
  std::optional<GenerationSpec> generation = {};  // if a scan reads words: the graph can be cut there
  Coverage coverage = {};
};
Generated generate(std::uint64_t seed);

}  // namespace graphrun::random_graphs
