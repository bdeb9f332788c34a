// Reverse-mode differentiation as graph rewriting: gradient nodes are appended, so that what follows sees one graph. Through a
// scan the gradient is a scan in the other direction over values that the forward one hands out; time is never unrolled.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"

namespace graphrun {

// Appends to `graph` the gradients of the FLOAT scalar `of` with respect to each of `wrt` (parameters, inputs, any FLOAT
// values). Returns them in the order of `wrt`; ir::kNone where nothing flows. Forward scans get further outputs: what the
// backward ones need.
std::vector<ir::ValueId> differentiate(ir::Graph& graph, ir::ValueId of, const std::vector<ir::ValueId>& wrt,
                                       const TapeOptions& tape = {});

}  // namespace graphrun
