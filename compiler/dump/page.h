// A page to explore a graph in a browser: one self-contained HTML file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/dump/outline.h"
#include "runtime/base/shape.h"

namespace graphrun {

struct PageStage {
  std::string name;  // of the stage of the compiler
  Outline outline;   // the graph after it
};

// Where the results of a node with memory of their own are stored.
struct PageMemory {
  struct Block {
    std::int64_t offset = 0, bytes = 0;  // in the arena
    std::int32_t first = 0, last = 0;    // the instructions of its region from the first to the last that uses it
  };
  double bytes = 0;  // of all of them
  std::vector<Block> blocks;
};

struct Page {
  std::string title;
  std::vector<PageStage> stages;  // in the compiler's order
  std::string kernels;            // the text of describe_kernels; empty: not asked for
  SymbolValues sizes;             // the batch for which numbers are shown; empty: none
  std::int64_t arena = 0;         // its bytes for `sizes`, without the workspaces of kernels
  // By the names of nodes' first results, of the last stage.
  std::map<std::string, PageMemory> memory;    // for `sizes`
  std::map<std::string, double> milliseconds;  // in a profile
};

// Throws what lay_out (compiler/dump/layout.h) throws.
std::string html(const Page& page);

}  // namespace graphrun
