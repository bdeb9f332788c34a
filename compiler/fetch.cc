#include "compiler/fetch.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::ValueId;

// The value of that name, returned from the scans that contain it; kNone if there is none.
ValueId expose(ir::Graph& graph, const std::string& name) {
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].name == name) return static_cast<ValueId>(v);
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!ir::is_scan(graph.nodes[n])) continue;
    ir::Graph& body = graph.nodes[n].regions[0];
    ValueId inner = expose(body, name);
    for (const ir::Output& output : body.outputs) {
      if (inner == kNone && ir::path_of(body, output) == name) inner = output.value;
    }
    if (inner == kNone) continue;
    const std::size_t states = ir::scan_layout(graph.nodes[n]).states;
    for (std::size_t o = states; o < body.outputs.size(); ++o) {
      if (body.outputs[o].value == inner) return graph.nodes[n].outputs[o];
    }
    ir::TensorType type = body.type(inner);
    type.shape.insert(type.shape.begin(), graph.nodes[n].attributes.dim("steps"));
    body.outputs.push_back({name, inner});
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back(
        {name, type, static_cast<std::int32_t>(n), static_cast<std::int32_t>(graph.nodes[n].outputs.size())});
    graph.nodes[n].outputs.push_back(id);
    return id;
  }
  return kNone;
}

// The same for a name in the files: the value's own, or an alias (ir::Graph::other_names).
ValueId expose_named(ir::Graph& graph, const std::string& name) {
  const ValueId v = expose(graph, name);
  if (v != kNone) return v;
  const auto other = graph.other_names.find(name);
  return other == graph.other_names.end() ? kNone : expose(graph, other->second);
}

// The names of all results of nodes, including those in scans' bodies. Parameters are not listed, since they are the same at
// every step and for every input.
void names_made(const ir::Graph& graph, std::vector<std::string>& out) {
  for (const ir::Node& n : graph.nodes) {
    for (ValueId v : n.outputs) out.push_back(graph.value(v).name);
    if (!ir::is_scan(n)) continue;
    for (const ir::Output& output : n.regions[0].outputs) out.push_back(ir::path_of(n.regions[0], output));
    names_made(n.regions[0], out);
  }
}

}  // namespace

ir::Graph with_fetches_kept(ir::Graph graph, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (graph.output(name)) continue;
    const ValueId v = expose_named(graph, name);
    if (v != kNone) graph.outputs.push_back({name, v});
  }
  return graph;
}

ir::Graph with_fetches(ir::Graph graph, const std::vector<std::string>& names) {
  std::vector<ir::Output> outputs;
  for (const std::string& name : names) {
    const ir::Output* o = graph.output(name);
    const ValueId v = o ? o->value : expose_named(graph, name);
    if (v == kNone) {
      std::vector<std::string> known;
      for (const ir::Output& k : graph.outputs) known.push_back(k.name);
      for (const ir::Input& input : graph.inputs) known.push_back(graph.value(input.value).name);
      for (const auto& [other, own] : graph.other_names) known.push_back(other);
      names_made(graph, known);
      const std::string hint = did_you_mean(name, known);
      throw UserError(ExitCode::kUsage, "E0403 unknown-fetch",
                      "graph '" + graph.name + "' has no output or value '" + name + "'",
                      {"help: " + (hint.empty() ? std::string("`graph-dump FILE --stage=checked` prints them all") : hint)});
    }
    outputs.push_back({name, v});
  }
  graph.outputs = std::move(outputs);
  return graph;
}

}  // namespace graphrun
