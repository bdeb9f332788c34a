// Reverse-mode differentiation as graph rewriting: gradient nodes are appended, so that later stages see one graph. The
// gradient of a scan is a scan in the other direction over values that the forward scan saves. Time is never unrolled.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"

namespace graphrun {

// Appends to `graph` the gradients of the FLOAT scalar `of` with respect to each of `wrt` (parameters, inputs, any FLOAT
// values). Returns them in the order of `wrt`; ir::kNone if `of` does not depend on the value. Forward scans get further
// outputs: what the backward scans need.
std::vector<ir::ValueId> differentiate(ir::Graph& graph, ir::ValueId of, const std::vector<ir::ValueId>& wrt,
                                       const TapeOptions& tape = {});

}  // namespace graphrun
