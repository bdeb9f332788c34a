#include "tools/help/expression_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/op.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::ValueId;

bool is_leaf(const ir::Node& node) { return ir::plays(node, ir::Role::kNumber) || ir::plays(node, ir::Role::kSize); }

}  // namespace

ExpressionText::ExpressionText(const ir::Graph& graph, std::map<ValueId, std::string> names)
    : graph_(graph), names_(std::move(names)) {}

const ir::Node* ExpressionText::node_of(ValueId v) const {
  const std::int32_t node = graph_.value(v).node;
  return node < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(node)];
}

ValueId ExpressionText::cast_to_float(ValueId v) const {
  const ir::Node* node = v == kNone || names_.count(v) != 0 ? nullptr : node_of(v);
  const bool is_cast = node != nullptr && ir::plays(*node, ir::Role::kCast) && graph_.type(v).type == Type::kFloat;
  return is_cast && graph_.type(node->inputs[0]).type != Type::kFloat ? node->inputs[0] : kNone;
}

ValueId ExpressionText::operand(const ir::Node& node, std::size_t i) const {
  const ValueId v = node.inputs[i], before = cast_to_float(v);
  if (before == kNone) return v;
  const ir::Promotion promotion = node.op->promotion;
  if (promotion == ir::Promotion::kFloat) return before;
  const bool mixes = promotion == ir::Promotion::kArithmetic || promotion == ir::Promotion::kCompare ||
                     (promotion == ir::Promotion::kSelect && i > 0);
  const bool beside_float = mixes && std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId other) {
                              return other != kNone && graph_.type(other).type == Type::kFloat && cast_to_float(other) == kNone;
                            });
  return beside_float ? before : v;
}

void ExpressionText::count(ValueId v) {
  const ir::Node* node = node_of(v);
  if (names_.count(v) != 0 || node == nullptr || is_leaf(*node) || ++reads_[v] > 1) return;
  for (std::size_t i = 0; i < node->inputs.size(); ++i) {
    if (node->inputs[i] != kNone) count(operand(*node, i));
  }
}

std::string ExpressionText::of(const std::vector<std::pair<std::string, ValueId>>& labels) {
  reads_.clear(), shared_.clear();
  for (const auto& [label, value] : labels) count(value);
  std::string all;
  for (const auto& [label, value] : labels) all += (all.empty() ? "" : "; ") + label + " = " + expression(value).text;
  // Writing one may add others.
  for (std::size_t k = 0; k < shared_.size(); ++k) {
    const auto [name, value] = shared_[k];
    all += (k == 0 ? ", where " : ", ") + name + " = " +
           written(*node_of(value), static_cast<std::size_t>(graph_.value(value).result)).text;
  }
  return all;
}

ir::WrittenExpression ExpressionText::expression(ValueId v) {
  if (const auto it = names_.find(v); it != names_.end()) return {it->second};
  const ir::Node* node = node_of(v);
  if (node == nullptr) return {graph_.value(v).name};
  if (reads_[v] > 1) {
    shared_.emplace_back(fmt::format("t{}", shared_.size() + 1), v);
    return {names_[v] = shared_.back().first};
  }
  return written(*node, static_cast<std::size_t>(graph_.value(v).result));
}

ir::WrittenExpression ExpressionText::written(const ir::Node& node, std::size_t result) {
  if (ir::plays(node, ir::Role::kNumber))
    return ir::write_number(node.attributes.number("value"), graph_.type(node.outputs[0]).type);
  if (ir::plays(node, ir::Role::kSize)) return ir::write_size(node.attributes.dim("size"));
  if (!node.op->infix.empty() && ir::write_attributes(*node.op, node.attributes).empty() && node.inputs.size() <= 2) {
    std::vector<ir::WrittenExpression> operands;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(expression(operand(node, i)));
    return ir::write_infix(node.op->infix, operands);
  }
  const std::string all = call(node);
  if (node.outputs.size() == 1) return {all};
  return {fmt::format("{} of {}", node.op->outputs.at(std::min(result, node.op->outputs.size() - 1)), all)};
}

std::string ExpressionText::call(const ir::Node& node) {
  std::vector<std::string> parts;
  bool gap = false;  // operands after an absent one are passed by name
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNone) {
      gap = true;
      continue;
    }
    parts.push_back((gap ? node.op->inputs[i].name + "=" : "") + expression(operand(node, i)).text);
  }
  for (std::string& attribute : ir::write_attributes(*node.op, node.attributes)) parts.push_back(std::move(attribute));
  return fmt::format("{}({})", node.op->name, fmt::join(parts, ", "));
}

}  // namespace graphrun
