// What passes share: values that stand in for others, and taking things out of a graph.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// Which values of one graph are replaced by which others, while a pass walks it from top to bottom.
class Replacements {
 public:
  explicit Replacements(const ir::Graph& graph);

  // What stands for v now; kNone for kNone.
  ir::ValueId of(ir::ValueId v) const { return v == ir::kNone ? v : by_[static_cast<std::size_t>(v)]; }
  // `by` must be defined before `old` and of its type.
  void replace(ir::ValueId old, ir::ValueId by);
  bool any() const { return any_; }
  void rewire(ir::Node& node) const;  // its operands

  // Rewires outputs and next values, and erases the nodes of which every result was replaced.
  void finish(ir::Graph& graph) const;

 private:
  std::vector<ir::ValueId> by_;
  bool any_ = false;
};

// Keeps the nodes and values that are marked, and numbers them anew. What is kept uses nothing that is not. Results of a kept
// node, inputs and variables go where their value is not kept.
void compact(ir::Graph& graph, const std::vector<bool>& keep_node, const std::vector<bool>& keep_value);

}  // namespace graphrun
