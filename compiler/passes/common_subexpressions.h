// Common subexpressions: nodes of one graph with the same op, operands and attributes become the first of them; of commutative
// ops the operands' order does not count. Scans whose bodies are alike are one. In a body, operands that are one value outside
// are one inside, and outputs that are one value inside are one result outside. Draws of random numbers and updates are never
// merged, and nothing is moved across the border of a scan.
//
// Must run after: simplify, which makes more expressions equal. Leaves results without readers to dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult common_subexpressions(ir::Graph graph);

}  // namespace graphrun
