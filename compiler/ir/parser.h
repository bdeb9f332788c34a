// Parses the text that compiler/ir/printer.h prints, to the same graph.
#pragma once

#include <string_view>

#include "compiler/ir/graph.h"

namespace graphrun::ir {

struct ParseOptions {
  bool check = true;  // verify the graph; otherwise only names, order and syntax are checked
};

// The text may come from an untrusted source: whatever it contains, the result is a graph or a UserError (kInvalidGraph) with
// the line and column of the first mistake. `file` names the text in messages. In addition to what the printer writes, the
// parser accepts shortcuts for hand-written texts: attributes with a default and absent operands at the end may be omitted, an
// integer may be used as a float or a size, and a result without a type gets the one from the op's shape rule (a scan's results
// need theirs).
//
// E0190 graph-text-syntax, E0191 graph-text-name, E0192 graph-text-depth, E0193 graph-text-invalid.
Graph parse(std::string_view text, std::string_view file, const ParseOptions& options = {});

}  // namespace graphrun::ir
