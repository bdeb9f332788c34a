// What must hold of every valid graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/random/generator.h"

namespace graphrun::random_graphs {

struct OracleOptions {
  bool numbers = true;    // it is run at all
  bool passes = true;     // each pass off, all off: equal numbers
  bool gradients = true;  // against differences
  bool text = true;       // printed text reads back
  bool threads = true;    // 1 and 2 threads, fewer rows, the same bits
  bool beside = true;     // beside more rows, before more padding: equal numbers
  bool words = true;      // cut for generation and run word by word: what all steps at once give
  bool device = false;    // a CUDA device, that of the library in $GRAPHRUN_CUDA_LIBRARY, computes what the CPU computes
  std::string folder;     // where the graph's file may lie meanwhile
};

struct Findings {
  std::vector<std::string> failures;          // "oracle: what"; empty: all held
  std::map<std::string, std::int64_t> tally;  // how often each oracle ran, or why it did not
};

Findings hold(const Generated& graph, std::uint64_t seed, const OracleOptions& options);

}  // namespace graphrun::random_graphs
