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

// Schedules one region. Values and nodes are indices and edges are in flat arrays, without recursion and with few allocations,
// because a graph may have a hundred thousand nodes.
class RegionSchedule {
 public:
  RegionSchedule(Graph& graph, bool is_body, std::size_t states)
      : graph_(graph), nodes_(graph.nodes.size()), readers_(graph), key_(nodes_), held_back_(nodes_), waits_for_(nodes_, 0) {
    find_keys();
    if (is_body) {
      // States are inputs of the body before the step and outputs after it.
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

  // (key, index): nodes run in this order, once their operands are computed.
  using Ready = std::pair<NodeIndex, NodeIndex>;
  using Queue = std::priority_queue<Ready, std::vector<Ready>, std::greater<>>;

  Graph& graph_;
  std::size_t nodes_;
  ir::Readers readers_;
  std::vector<NodeIndex> key_;
  std::vector<std::vector<NodeIndex>> held_back_;  // by node: the updates that should run after it
  std::vector<std::int32_t> waits_for_;            // by node: the number of readers that should still run before it
};

// The key of a node is its position, with two exceptions. An update gets the key of its last operand: it runs as soon as it
// can, which frees the gradient's memory. A node that may run late at no cost gets the key of its first reader: a node whose
// operands are all in memory for the whole run, or a view that is the only reader of such a node.
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
    // A node without readers is an output and keeps its position.
    if (first < static_cast<NodeIndex>(nodes_)) key_[n] = first;
  }
}

// Makes the producer of `new_value` wait for all other readers of `old_value` and of its views.
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
  std::vector<std::int32_t> missing(nodes_, 0);  // by node: operands that are not computed yet
  for (std::size_t n = 0; n < nodes_; ++n) {
    for (ValueId v : graph_.nodes[n].inputs) missing[n] += v != kNone && producer(v) >= 0;
  }
  Queue ready, waiting;  // waiting: could run, but readers of the replaced value should run first
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
    // If only waiting nodes remain, a reader of an old value needs the new value too; then the first waiting node runs.
    Queue& from = ready.empty() ? waiting : ready;
    GRAPHRUN_CHECK(!from.empty(), "schedule: the graph has a cycle");
    const NodeIndex n = from.top().second;
    from.pop();
    if (done[static_cast<std::size_t>(n)]) continue;  // it was in both queues
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

// Makes loops adjacent that can run concurrently.
class LoopsTogether {
 public:
  LoopsTogether(const Graph& graph, std::vector<NodeIndex> order) : graph_(graph), order_(std::move(order)) {}

  std::vector<NodeIndex> run() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (!is_loop(i)) continue;
      std::size_t last = i, joined = 1;  // of the loops that are adjacent so far
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

  // Whether the node at `to` depends on a node at [first, last].
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

  // Moves the node at `from` right after `last`. Nodes between them that it depends on move before `first`; returns their
  // number.
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
    // Puts [first, last] after the nodes that the moved node depends on, and before the moved node itself.
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
