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

// nullopt if the node cannot be fused: it is no reduction, it has lengths, its axes are not adjacent, or it is not FLOAT.
std::optional<FusibleReduction> fusible_reduction(const ir::Graph& graph, const ir::Node& node);

}  // namespace graphrun
