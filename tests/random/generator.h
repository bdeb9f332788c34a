// Valid graphs, as text, from seeds: whatever seed, the result must check, compile and compute.
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
  // The same graph in several files, by name, of which "random.pbtxt" imports others; empty where nothing could be moved.
  std::map<std::string, std::string> files = {};
  std::optional<GenerationSpec> generation = {};  // where a scan reads words: it can be cut there
  Coverage coverage = {};
};
Generated generate(std::uint64_t seed);

}  // namespace graphrun::random_graphs
