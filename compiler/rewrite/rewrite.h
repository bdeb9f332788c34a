// What passes share: replacing values by others, and removing nodes and values from a graph.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"

namespace graphrun {

// Which values of one graph are replaced by which others, while a pass walks over it in order.
class Replacements {
 public:
  explicit Replacements(const ir::Graph& graph);

  // The replacement of v, or v itself; kNone for kNone.
  ir::ValueId of(ir::ValueId v) const { return v == ir::kNone ? v : by_[static_cast<std::size_t>(v)]; }
  // `by` must be defined before `old` and of its type.
  void replace(ir::ValueId old, ir::ValueId by);
  bool any() const { return any_; }
  void rewire(ir::Node& node) const;  // its operands

  // Rewires outputs and next values, and erases the nodes whose results were all replaced.
  void finish(ir::Graph& graph) const;

 private:
  std::vector<ir::ValueId> by_;
  bool any_ = false;
};

// A walk over the nodes of a graph that replaces some, or inserts others before or after them. At first the graph has no nodes;
// keep() and builder() append them.
class Rebuild {
 public:
  explicit Rebuild(ir::Graph& graph);

  std::vector<ir::Node>& old_nodes() { return old_; }  // the caller moves from them, in order
  ir::Builder& builder() { return builder_; }
  // The replacement of a value of the old nodes, or the value itself.
  ir::ValueId of(ir::ValueId v) const;
  void rewire(ir::Node& node) const;
  void keep(ir::Node node);  // unchanged, except that its operands are rewired
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

// Calls `rewrite` for a graph and all regions in it, each region before the graph that contains it. `around` is the node whose
// region the graph is, null for the outermost; its operands are values of the containing graph. Returns whether any call
// returned true.
bool rewrite_inner_first(ir::Graph& graph, const std::function<bool(ir::Graph& graph, const ir::Node* around)>& rewrite);

// Rebuilds every graph that contains a wanted scan, bodies before the graphs that contain them. Returns whether there was any.
bool rewrite_scans(ir::Graph& graph, const std::function<bool(const ir::Node& scan)>& wanted,
                   const std::function<void(Rebuild&, ir::Node scan)>& rewrite);

// Keeps the nodes and values that are marked, and renumbers them. What is kept must not use what is not kept. Results of a kept
// node, inputs and variables are removed if their value is not kept.
void compact(ir::Graph& graph, const std::vector<bool>& keep_node, const std::vector<bool>& keep_value);

}  // namespace graphrun
