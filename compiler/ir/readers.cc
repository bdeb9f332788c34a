#include "compiler/ir/readers.h"

#include <algorithm>

namespace graphrun::ir {

Readers::Readers(const Graph& graph) : begin_(graph.values.size() + 1, 0) {
  for (const Node& node : graph.nodes) {
    for (ValueId v : node.inputs) {
      if (v != kNone) ++begin_[static_cast<std::size_t>(v) + 1];
    }
  }
  for (std::size_t v = 1; v < begin_.size(); ++v) begin_[v] += begin_[v - 1];
  nodes_.resize(static_cast<std::size_t>(begin_.back()));
  std::vector<std::int32_t> at(begin_.begin(), begin_.end() - 1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (ValueId v : graph.nodes[n].inputs) {
      if (v != kNone) nodes_[static_cast<std::size_t>(at[static_cast<std::size_t>(v)]++)] = static_cast<std::int32_t>(n);
    }
  }
}

std::vector<bool> read_at_end(const Graph& graph) {
  std::vector<bool> read(graph.values.size());
  for (const Output& o : graph.outputs) read[static_cast<std::size_t>(o.value)] = true;
  for (const Variable& v : graph.variables) {
    if (v.next != kNone) read[static_cast<std::size_t>(v.next)] = true;
  }
  return read;
}

bool is_read(const Graph& graph, ValueId v) {
  const auto reads = [v](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), v) != node.inputs.end();
  };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), reads) ||
         std::any_of(graph.outputs.begin(), graph.outputs.end(), [v](const Output& o) { return o.value == v; });
}

}  // namespace graphrun::ir
