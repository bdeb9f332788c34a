#include "compiler/ir/roles.h"

#include "compiler/ir/op.h"

namespace graphrun::ir {

const Node* producer(const Graph& graph, ValueId v) {
  const std::int32_t n = v == kNone ? -1 : graph.value(v).node;
  return n < 0 ? nullptr : &graph.nodes[static_cast<std::size_t>(n)];
}

const Node* made_by(const Graph& graph, ValueId v, Role role) {
  const Node* node = producer(graph, v);
  return node && plays(*node, role) ? node : nullptr;
}

bool plays(const Node& node, Role role) { return node.op->role == role; }

std::optional<double> number(const Graph& graph, ValueId v) {
  const Node* node = made_by(graph, v, Role::kNumber);
  return node ? std::optional(node->attributes.number("value")) : std::nullopt;
}

bool is_zeros(const Graph& graph, ValueId v) { return number(graph, v) == 0.0 || made_by(graph, v, Role::kZeros); }

}  // namespace graphrun::ir
