// Which reductions may take the pointwise work that they read into their own kernel.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/fold.h"
#include "compiler/ir/graph.h"

namespace graphrun {

// Neighbouring axes [first, last).
struct ReducedAxes {
  std::int64_t first = 0, last = 0;
  friend bool operator==(const ReducedAxes&, const ReducedAxes&) = default;
};

// Of a reduction node that may be fused: which axes go, and by which of a program's reductions.
struct FusibleReduction {
  ir::FoldKind fold = ir::FoldKind::kSum;
  ReducedAxes axes;
};

// Nothing where the node is no such reduction: another op, one with lengths, of axes that are no neighbours, not of FLOAT.
std::optional<FusibleReduction> fusible_reduction(const ir::Graph& graph, const ir::Node& node);

}  // namespace graphrun
