#include "compiler/schedule.h"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ir/readers.h"
#include "runtime/program/program.h"

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

// Brings loops of an order together that can run at the same time.
class LoopsTogether {
 public:
  LoopsTogether(const Graph& graph, std::vector<NodeIndex> order) : graph_(graph), order_(std::move(order)) {}

  std::vector<NodeIndex> run() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (!is_loop(i)) continue;
      std::size_t last = i, joined = 1;  // of those side by side
      for (std::size_t j = i + 1; j < order_.size() && j - i <= kFarthest && joined < kMostConcurrent; ++j) {
        if (!is_loop(j) || steps(j) != steps(i) || needs_one_of(i, last, j)) continue;
        i += bring(i, last, j);
        last = i + joined++;
        j = last;
      }
      i = last;
    }
    return std::move(order_);
  }

 private:
  static constexpr std::size_t kFarthest = 256;

  const Node& node(std::size_t at) const { return graph_.nodes[static_cast<std::size_t>(order_[at])]; }
  bool is_loop(std::size_t at) const {
    if (!ir::is_scan(node(at))) return false;
    const std::vector<Node>& body = node(at).regions[0].nodes;
    return std::none_of(body.begin(), body.end(), [](const Node& n) { return ir::is_scan(n); });
  }
  const Dim& steps(std::size_t at) const { return node(at).attributes.dim("steps"); }

  // Whether the node at `to` depends on one of those at [first, last].
  bool needs_one_of(std::size_t first, std::size_t last, std::size_t to) const {
    std::set<NodeIndex> reached(order_.begin() + static_cast<std::ptrdiff_t>(first),
                                order_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    for (std::size_t at = last + 1; at <= to; ++at) {
      for (ValueId v : node(at).inputs) {
        if (v == kNone || reached.count(graph_.value(v).node) == 0) continue;
        if (at == to) return true;
        reached.insert(order_[at]);
        break;
      }
    }
    return false;
  }

  // Moves the node at `from` behind `last`, and what it needs of those between before `first`; how many those are.
  std::size_t bring(std::size_t first, std::size_t last, std::size_t from) {
    std::set<NodeIndex> needed = {order_[from]};
    for (std::size_t at = from + 1; at-- > last + 1;) {
      if (needed.count(order_[at]) == 0) continue;
      for (ValueId v : node(at).inputs) {
        if (v != kNone && graph_.value(v).node >= 0) needed.insert(graph_.value(v).node);
      }
    }
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(last) + 1,
               end = order_.begin() + static_cast<std::ptrdiff_t>(from) + 1;
    const auto rest = std::stable_partition(begin, end, [&](NodeIndex n) { return needed.count(n) != 0; });
    const auto count = static_cast<std::size_t>(rest - begin) - 1;
    // [first, last] go behind the nodes that the new one needs, before the new one itself.
    std::rotate(order_.begin() + static_cast<std::ptrdiff_t>(first), begin, begin + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  const Graph& graph_;
  std::vector<NodeIndex> order_;
};

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
  std::vector<NodeIndex> order = RegionSchedule(graph, is_body, states).order();
  if (!is_body) order = LoopsTogether(graph, std::move(order)).run();
  reorder(graph, order);
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
