#include "compiler/rewrite/rewrite.h"

#include <algorithm>
#include <numeric>

namespace graphrun {
using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;

Replacements::Replacements(const Graph& graph) : by_(graph.values.size()) { std::iota(by_.begin(), by_.end(), 0); }

void Replacements::replace(ValueId old, ValueId by) {
  by_[static_cast<std::size_t>(old)] = of(by);
  any_ = true;
}

void Replacements::rewire(Node& node) const {
  if (!any_) return;
  for (ValueId& v : node.inputs) v = of(v);
}

void Replacements::finish(Graph& graph) const {
  if (!any_) return;
  for (ir::Output& o : graph.outputs) o.value = of(o.value);
  for (ir::Variable& v : graph.variables) v.next = of(v.next);
  const auto replaced = [&](ValueId v) { return of(v) != v; };
  std::vector<bool> keep_node(graph.nodes.size(), true), keep_value(graph.values.size(), true);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.outputs.empty() || !std::all_of(node.outputs.begin(), node.outputs.end(), replaced)) continue;
    keep_node[n] = false;
    for (ValueId v : node.outputs) keep_value[static_cast<std::size_t>(v)] = false;
  }
  compact(graph, keep_node, keep_value);
}

Rebuild::Rebuild(Graph& graph)
    : graph_(graph), old_(std::move(graph.nodes)), builder_(graph), first_new_(static_cast<ValueId>(graph.values.size())) {
  graph.nodes.clear();
}

ValueId Rebuild::of(ValueId v) const {
  const auto it = by_.find(v);
  return it == by_.end() ? v : it->second;
}

void Rebuild::rewire(Node& node) const {
  for (ValueId& v : node.inputs) v = of(v);
}

void Rebuild::keep(Node node) {
  rewire(node);
  const auto index = static_cast<std::int32_t>(graph_.nodes.size());
  for (std::size_t r = 0; r < node.outputs.size(); ++r) {
    ir::Value& value = graph_.value(node.outputs[r]);
    value.node = index, value.result = static_cast<std::int32_t>(r);
  }
  graph_.nodes.push_back(std::move(node));
}

void Rebuild::replace(ValueId old, ValueId by) {
  by_[old] = by;
  // A value that replaces several others takes the name of the first; a value that existed before the walk keeps its own.
  const bool fresh = graph_.value(by).node >= 0 && by >= first_new_ && renamed_.insert(by).second;
  if (fresh) std::swap(graph_.value(old).name, graph_.value(by).name);
}

void Rebuild::finish() {
  for (ir::Output& o : graph_.outputs) o.value = of(o.value);
  for (ir::Variable& v : graph_.variables) v.next = of(v.next);
  std::vector<bool> made(graph_.values.size());
  for (const Node& node : graph_.nodes) {
    for (ValueId v : node.outputs) made[static_cast<std::size_t>(v)] = true;
  }
  for (const ir::Input& i : graph_.inputs) made[static_cast<std::size_t>(i.value)] = true;
  for (const ir::Variable& v : graph_.variables) made[static_cast<std::size_t>(v.value)] = true;
  compact(graph_, std::vector<bool>(graph_.nodes.size(), true), made);
}

namespace {

bool rewrite_region(Graph& graph, const Node* around, const std::function<bool(Graph&, const Node*)>& rewrite) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    for (Graph& region : node.regions) changed = rewrite_region(region, &node, rewrite) || changed;
  }
  return rewrite(graph, around) || changed;
}

}  // namespace

bool rewrite_inner_first(Graph& graph, const std::function<bool(Graph& graph, const Node* around)>& rewrite) {
  return rewrite_region(graph, nullptr, rewrite);
}

bool rewrite_scans(Graph& graph, const std::function<bool(const Node& scan)>& wanted,
                   const std::function<void(Rebuild&, Node scan)>& rewrite) {
  return rewrite_inner_first(graph, [&](Graph& g, const Node*) {
    const auto is_wanted = [&](const Node& node) { return ir::is_scan(node) && wanted(node); };
    if (std::none_of(g.nodes.begin(), g.nodes.end(), is_wanted)) return false;
    Rebuild rebuild(g);
    for (Node& node : rebuild.old_nodes()) {
      if (ir::is_scan(node)) {
        rewrite(rebuild, std::move(node));
      } else {
        rebuild.keep(std::move(node));
      }
    }
    rebuild.finish();
    return true;
  });
}

void compact(Graph& graph, const std::vector<bool>& keep_node, const std::vector<bool>& keep_value) {
  std::vector<ValueId> value_at(graph.values.size(), kNone);
  ValueId values = 0;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (!keep_value[v]) continue;
    if (static_cast<std::size_t>(values) != v) graph.values[static_cast<std::size_t>(values)] = std::move(graph.values[v]);
    value_at[v] = values++;
  }
  graph.values.truncate(static_cast<std::size_t>(values));
  const auto moved = [&](ValueId v) { return v == kNone ? v : value_at[static_cast<std::size_t>(v)]; };

  std::size_t nodes = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!keep_node[n]) continue;
    if (nodes != n) graph.nodes[nodes] = std::move(graph.nodes[n]);
    Node& node = graph.nodes[nodes];
    for (ValueId& v : node.inputs) v = moved(v);
    for (ValueId& v : node.outputs) v = moved(v);
    std::erase(node.outputs, kNone);
    for (std::size_t r = 0; r < node.outputs.size(); ++r) {
      graph.value(node.outputs[r]).node = static_cast<std::int32_t>(nodes);
      graph.value(node.outputs[r]).result = static_cast<std::int32_t>(r);
    }
    ++nodes;
  }
  graph.nodes.resize(nodes);

  for (ir::Input& i : graph.inputs) i.value = moved(i.value);
  std::erase_if(graph.inputs, [](const ir::Input& i) { return i.value == kNone; });
  for (ir::Variable& v : graph.variables) v.value = moved(v.value), v.next = moved(v.next);
  std::erase_if(graph.variables, [](const ir::Variable& v) { return v.value == kNone; });
  for (ir::Output& o : graph.outputs) o.value = moved(o.value);
}

}  // namespace graphrun
