// Which reductions can be fused with the pointwise work that they read.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/fold.h"
#include "compiler/ir/graph.h"

namespace graphrun {

// Adjacent axes [first, last).
struct ReducedAxes {
  std::int64_t first = 0, last = 0;
  friend bool operator==(const ReducedAxes&, const ReducedAxes&) = default;
};

// A reduction node that may be fused: which axes it reduces, and the reduction of a program that computes the same.
struct FusibleReduction {
  ir::FoldKind fold = ir::FoldKind::kSum;
  ReducedAxes axes;
};

// Nothing if the node is no such reduction: another op, one with lengths, of axes that are not adjacent, not of FLOAT.
std::optional<FusibleReduction> fusible_reduction(const ir::Graph& graph, const ir::Node& node);

}  // namespace graphrun
