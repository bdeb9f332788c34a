// Common subexpressions: of several nodes of one graph with the same op, operands and attributes, the first replaces the
// others. The order of a commutative op's operands is ignored. Scans with equal bodies are merged too. In a body, inputs that
// are the same value outside become one input, and outputs that are the same value inside become one result. Random draws and
// updates are never merged, and nothing moves across the border of a scan.
//
// Must run after: simplify, which makes more expressions equal. Leaves results without readers to dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult common_subexpressions(ir::Graph graph);

}  // namespace graphrun
