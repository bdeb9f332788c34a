// A page to explore a graph in a browser: one self-contained HTML file.
#pragma once

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

struct Page {
  std::string title;
  std::vector<PageStage> stages;  // in the compiler's order
  std::string kernels;            // the text of describe_kernels; empty: not asked for
  SymbolValues sizes;             // the batch for which numbers are shown; empty: none
  // By the names of nodes' first results, of the last stage.
  std::map<std::string, double> bytes;         // of results with memory of their own, for `sizes`
  std::map<std::string, double> milliseconds;  // in a profile
};

// Throws what lay_out (compiler/dump/layout.h) throws.
std::string html(const Page& page);

}  // namespace graphrun
