#include "compiler/stopped.h"

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ir/roles.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

constexpr std::string_view kName = "stopped.";

bool stops(const Node& node) { return ir::plays(node, ir::Role::kStopGradient); }

bool has_stops(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return stops(node) || std::any_of(node.regions.begin(), node.regions.end(), has_stops);
  });
}

ir::TensorType over_steps(ir::TensorType type, const Node& scan) {
  type.shape.insert(type.shape.begin(), scan.attributes.dim("steps"));
  return type;
}

// The stopped values of the graph, in the order of the nodes; scans return those inside them.
std::vector<ValueId> take(Graph& graph) {
  std::vector<ValueId> taken;
  ir::Builder builder(graph);  // only for unique names: a loop and the loop of its gradient may contain values of the same name
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (stops(graph.nodes[n])) taken.push_back(graph.nodes[n].outputs[0]);
    if (!ir::is_scan(graph.nodes[n])) continue;
    Graph& body = graph.nodes[n].regions[0];
    for (const ValueId inner : take(body)) {
      Node& scan = graph.nodes[n];
      const std::string name = builder.unique(std::string(kName) + body.value(inner).name);
      body.outputs.push_back({name, inner});
      taken.push_back(static_cast<ValueId>(graph.values.size()));
      graph.values.push_back({name, over_steps(body.type(inner), scan), static_cast<std::int32_t>(n),
                              static_cast<std::int32_t>(scan.outputs.size())});
      scan.outputs.push_back(taken.back());
    }
  }
  return taken;
}

// Replaces the stopped values by inputs, in the same order, appended to the graph's inputs.
std::vector<ValueId> give(Graph& graph) {
  std::vector<ValueId> given;
  ir::Builder builder(graph);
  std::vector<bool> keep_node(graph.nodes.size(), true);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (stops(node)) {
      given.push_back(node.outputs[0]);
      graph.value(given.back()).node = -1;
      graph.value(given.back()).result = 0;
      graph.inputs.push_back({given.back(), {}, {}});
      node.outputs.clear();
      keep_node[n] = false;
    }
    if (!ir::is_scan(node) || !has_stops(node.regions[0])) continue;
    const ir::ScanLayout layout = ir::scan_layout(node);
    Graph& body = node.regions[0];
    const std::size_t before = body.inputs.size();
    const std::size_t count = give(body).size();
    // Sequences come before invariants.
    const auto at = [](auto& list, std::size_t k) { return list.begin() + static_cast<std::ptrdiff_t>(k); };
    std::rotate(at(body.inputs, layout.invariant_begin()), at(body.inputs, before), body.inputs.end());
    auto each = static_cast<std::int64_t>(layout.each);
    for (std::size_t i = 0, k = layout.invariant_begin(); i < count; ++i, ++k, ++each) {
      given.push_back(
          builder.input(builder.unique(std::string(kName) + "sequence"), over_steps(body.type(body.inputs[k].value), node)));
      node.inputs.insert(at(node.inputs, k), given.back());
    }
    node.attributes.set("each", each);
  }
  compact(graph, keep_node, std::vector<bool>(graph.values.size(), true));
  return given;
}

std::string name_of(std::size_t k) { return std::string(kName) + std::to_string(k); }

}  // namespace

std::vector<std::string> take_stopped(Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId v : take(graph)) {
    names.push_back(name_of(names.size()));
    graph.outputs.push_back({names.back(), v});
  }
  return names;
}

void give_stopped(Graph& graph) {
  const std::vector<ValueId> given = give(graph);
  for (std::size_t k = 0; k < given.size(); ++k) graph.value(given[k]).name = name_of(k);
}

}  // namespace graphrun
