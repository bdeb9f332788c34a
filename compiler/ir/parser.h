// Reads the text that compiler/ir/printer.h prints back to the same graph.
#pragma once

#include <string_view>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

struct ParseOptions {
  bool check = true;  // hold the graph to the verifier's rules; without, only names, order and syntax are checked
};

// The text may be anybody's: whatever it holds, the result is a graph or a UserError (kInvalidGraph) with the line and column
// of the first mistake. `file` names the text in messages. Besides what the printer writes, and for texts written by hand:
// attributes with a default and absent operands at the end may be left out, an integer may stand for a float or a size, and a
// result without a type gets the one of the op's shape rule (a scan's results need theirs).
//
// E0190 graph-text-syntax, E0191 graph-text-name, E0192 graph-text-depth, E0193 graph-text-invalid.
Graph parse(std::string_view text, std::string_view file, const ParseOptions& options = {});

}  // namespace graphrun::ir
