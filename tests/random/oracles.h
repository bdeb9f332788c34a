// Checks what must hold for every valid graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/random/generator.h"

namespace graphrun::random_graphs {

struct OracleOptions {
  bool numbers = true;    // the graph is run at all
  bool passes = true;     // with each pass disabled, or all of them: equal numbers
  bool gradients = true;  // compared with finite differences
  bool text = true;       // printed text parses back
  bool threads = true;    // 1 and 2 threads, fewer rows: the same bits
  bool beside = true;     // with more rows, with more padding: equal numbers
  bool words = true;      // cut for generation and run word by word: the same as all steps at once
  bool device = false;    // a CUDA device, from the library in $GRAPHRUN_CUDA_LIBRARY, computes the same as the CPU
  std::string folder;     // where the graph's file may be stored temporarily
};

struct Findings {
  std::vector<std::string> failures;          // "oracle: what"; empty if all passed
  std::map<std::string, std::int64_t> tally;  // how often each oracle ran, or why it did not
};

Findings hold(const Generated& graph, std::uint64_t seed, const OracleOptions& options);

}  // namespace graphrun::random_graphs
