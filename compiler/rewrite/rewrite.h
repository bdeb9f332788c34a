// What passes share: values that stand in for others, and taking things out of a graph.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/builder.h"
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

// A walk over a graph's nodes that puts others in their place, before or behind them. Begun, the graph has no nodes; keep(),
// and builder(), append them again.
class Rebuild {
 public:
  explicit Rebuild(ir::Graph& graph);

  std::vector<ir::Node>& old_nodes() { return old_; }  // to be moved from, one after the other
  ir::Builder& builder() { return builder_; }
  // What stands for a value of the old nodes now.
  ir::ValueId of(ir::ValueId v) const;
  void rewire(ir::Node& node) const;
  void keep(ir::Node node);  // as it is, its operands rewired
  // `by` takes the place and the name of `old`, whose producer is not kept.
  void replace(ir::ValueId old, ir::ValueId by);
  // Rewires outputs and next values, and drops values without a producer.
  void finish();

 private:
  ir::Graph& graph_;
  std::vector<ir::Node> old_;
  ir::Builder builder_;
  std::unordered_map<ir::ValueId, ir::ValueId> by_;
  const ir::ValueId first_new_;
  std::unordered_set<ir::ValueId> renamed_;
};

// Calls `rewrite` for a graph and all regions in it, each region before the graph around it. `around` is the node whose region
// the graph is, null for the outermost; its operands are those of the graph around. Returns whether any call returned true.
bool rewrite_inner_first(ir::Graph& graph, const std::function<bool(ir::Graph& graph, const ir::Node* around)>& rewrite);

// Rebuilds every graph with a scan that is wanted, bodies before the graphs around them. Returns whether there was any.
bool rewrite_scans(ir::Graph& graph, const std::function<bool(const ir::Node& scan)>& wanted,
                   const std::function<void(Rebuild&, ir::Node scan)>& rewrite);

// Keeps the nodes and values that are marked, and numbers them anew. What is kept uses nothing that is not. Results of a kept
// node, inputs and variables go where their value is not kept.
void compact(ir::Graph& graph, const std::vector<bool>& keep_node, const std::vector<bool>& keep_value);

}  // namespace graphrun
