// Which reductions can be fused with the pointwise work that they read.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/fold.h"
#include "compiler/ir/graph.h"

namespace graphrun {

// Adjacent axes [first, last), and the lengths up to which the one axis is reduced; kNone: all of it.
struct ReducedAxes {
  std::int64_t first = 0, last = 0;
  ir::ValueId lengths = ir::kNone;
  friend bool operator==(const ReducedAxes&, const ReducedAxes&) = default;
};

// A reduction node that may be fused: which axes it reduces, and the reduction of a program that computes the same.
struct FusibleReduction {
  ir::FoldKind fold = ir::FoldKind::kSum;
  ReducedAxes axes;
};

// nullopt if the node cannot be fused: it is not a reduction, its axes are not adjacent, it is not FLOAT, or it has lengths but
// no axis after both them and the reduced axis. Fused work takes the lengths one by one, so several elements must share each of
// them.
std::optional<FusibleReduction> fusible_reduction(const ir::Graph& graph, const ir::Node& node);

}  // namespace graphrun
