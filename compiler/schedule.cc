#include "compiler/schedule.h"

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ir/readers.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;

using NodeIndex = std::int32_t;

// One region under scheduling. Values and nodes by index, edges in flat arrays: no recursion and few allocations, because a
// graph may have a hundred thousand nodes.
class RegionSchedule {
 public:
  RegionSchedule(Graph& graph, bool is_body, std::size_t states)
      : graph_(graph), nodes_(graph.nodes.size()), readers_(graph), key_(nodes_), held_back_(nodes_), waits_for_(nodes_, 0) {
    find_keys();
    if (is_body) {
      // A scan's states: body inputs before the step, body outputs after it.
      for (std::size_t s = 0; s < states; ++s) keep_behind_readers(graph.inputs[s].value, graph.outputs[s].value);
    } else {
      for (const ir::Variable& variable : graph.variables) {
        if (variable.next != kNone) keep_behind_readers(variable.value, variable.next);
      }
    }
  }

  // The nodes' indices in their new order.
  std::vector<NodeIndex> order();

 private:
  NodeIndex producer(ValueId v) const { return graph_.value(v).node; }
  const Node& node(NodeIndex n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }
  // The value whose memory `v` is a view of.
  ValueId viewed(ValueId v) const {
    while (producer(v) >= 0 && node(producer(v)).op->view) v = node(producer(v)).inputs[0];
    return v;
  }

  void find_keys();
  void keep_behind_readers(ValueId old_value, ValueId new_value);

  // (key, index): nodes run in this order as far as their operands allow.
  using Ready = std::pair<NodeIndex, NodeIndex>;
  using Queue = std::priority_queue<Ready, std::vector<Ready>, std::greater<>>;

  Graph& graph_;
  std::size_t nodes_;
  ir::Readers readers_;
  std::vector<NodeIndex> key_;
  std::vector<std::vector<NodeIndex>> held_back_;  // by node: the updates that should wait for it
  std::vector<std::int32_t> waits_for_;            // by node: how many readers it should still wait for
};

// A node's key is its place, with two exceptions. An update's is that of the last of its operands: it runs as soon as it can,
// and its gradient's memory is free. A node that costs nothing to run late has that of its first reader: all its operands are
// in memory for the whole run, or it is the only reader, by a view, of such a node.
void RegionSchedule::find_keys() {
  std::vector<char> late(nodes_, 0);
  for (std::size_t n = 0; n < nodes_; ++n) {
    const Node& made = graph_.nodes[n];
    bool made_late = true;
    NodeIndex last_operand = -1;
    for (ValueId v : made.inputs) {
      if (v == kNone || producer(v) < 0) continue;
      const auto p = static_cast<std::size_t>(producer(v));
      made_late = made_late && made.op->view && late[p] && readers_.of(v).size() == 1;
      if (!late[p]) last_operand = std::max(last_operand, key_[p]);
    }
    late[n] = made_late && !ir::is_scan(made) && !made.op->update;
    key_[n] = made.op->update && last_operand >= 0 ? last_operand : static_cast<NodeIndex>(n);
  }
  for (std::size_t n = nodes_; n-- > 0;) {
    if (!late[n]) continue;
    NodeIndex first = static_cast<NodeIndex>(nodes_);
    for (ValueId v : graph_.nodes[n].outputs) {
      for (NodeIndex reader : readers_.of(v)) first = std::min(first, key_[static_cast<std::size_t>(reader)]);
    }
    // What nothing reads is an output: it stays.
    if (first < static_cast<NodeIndex>(nodes_)) key_[n] = first;
  }
}

// Asks the node that makes `new_value` to wait for all other readers of `old_value`, of views of it too.
void RegionSchedule::keep_behind_readers(ValueId old_value, ValueId new_value) {
  const NodeIndex update = producer(viewed(new_value));
  if (update < 0) return;
  std::vector<ValueId> names{old_value};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ValueId name = names[i];
    for (NodeIndex reader : readers_.of(name)) {
      if (reader == update) continue;
      if (node(reader).op->view) names.push_back(node(reader).outputs[0]);
      held_back_[static_cast<std::size_t>(reader)].push_back(update);
      ++waits_for_[static_cast<std::size_t>(update)];
    }
  }
}

std::vector<NodeIndex> RegionSchedule::order() {
  std::vector<std::int32_t> missing(nodes_, 0);  // operands that are not made yet
  for (std::size_t n = 0; n < nodes_; ++n) {
    for (ValueId v : graph_.nodes[n].inputs) missing[n] += v != kNone && producer(v) >= 0;
  }
  Queue ready, waiting;  // waiting: could run, but should let readers of what it replaces go first
  const auto enqueue = [&](NodeIndex n) {
    (waits_for_[static_cast<std::size_t>(n)] > 0 ? waiting : ready).emplace(key_[static_cast<std::size_t>(n)], n);
  };
  for (std::size_t n = 0; n < nodes_; ++n) {
    if (missing[n] == 0) enqueue(static_cast<NodeIndex>(n));
  }
  std::vector<NodeIndex> order;
  order.reserve(nodes_);
  std::vector<char> done(nodes_, 0);
  while (order.size() < nodes_) {
    // Only where a reader needs the new value as well does nothing but waiting ones remain: then the first of them runs.
    Queue& from = ready.empty() ? waiting : ready;
    GRAPHRUN_CHECK(!from.empty(), "schedule: the graph has a cycle");
    const NodeIndex n = from.top().second;
    from.pop();
    if (done[static_cast<std::size_t>(n)]) continue;  // it waited, and was made ready meanwhile
    done[static_cast<std::size_t>(n)] = 1;
    order.push_back(n);
    for (NodeIndex update : held_back_[static_cast<std::size_t>(n)]) {
      const auto u = static_cast<std::size_t>(update);
      if (--waits_for_[u] == 0 && missing[u] == 0 && !done[u]) enqueue(update);
    }
    for (ValueId v : node(n).outputs) {
      for (NodeIndex reader : readers_.of(v)) {
        if (--missing[static_cast<std::size_t>(reader)] == 0) enqueue(reader);
      }
    }
  }
  return order;
}

void reorder(Graph& graph, const std::vector<NodeIndex>& order) {
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (NodeIndex n : order) {
    for (ValueId v : graph.nodes[static_cast<std::size_t>(n)].outputs) {
      graph.value(v).node = static_cast<std::int32_t>(nodes.size());
    }
    nodes.push_back(std::move(graph.nodes[static_cast<std::size_t>(n)]));
  }
  graph.nodes = std::move(nodes);
}

void schedule_region(Graph& graph, bool is_body, std::size_t states) {
  reorder(graph, RegionSchedule(graph, is_body, states).order());
  for (Node& node : graph.nodes) {
    for (Graph& region : node.regions) schedule_region(region, true, ir::scan_layout(node).states);
  }
}

}  // namespace

ir::Graph schedule(ir::Graph graph) {
  schedule_region(graph, false, 0);
  return graph;
}

}  // namespace graphrun
