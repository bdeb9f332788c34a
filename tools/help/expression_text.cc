#include "tools/help/expression_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ValueId;

// How tightly an operator binds; an operand that binds less stands in parentheses.
enum Level { kOr = 1, kAnd, kNot, kCompare, kSum, kProduct, kMinus, kPower, kAtom };

int level_of(const std::string& infix, bool unary) {
  if (infix == "or") return kOr;
  if (infix == "and") return kAnd;
  if (infix == "not") return kNot;
  if (infix == "**") return kPower;
  if (unary) return kMinus;
  if (infix == "+" || infix == "-") return kSum;
  if (infix == "*" || infix == "/" || infix == "@") return kProduct;
  return kCompare;
}

std::string number_text(double value) { return fmt::format("{}", value); }

std::string in_level(std::string text, int own, int wanted) { return own < wanted ? "(" + text + ")" : text; }

bool is_leaf(const Node& node) { return node.op->name == "constant" || node.op->name == "dim"; }

bool has_defaults(const Node& node) {
  return std::all_of(node.attributes.all().begin(), node.attributes.all().end(), [&](const auto& a) {
    const ir::AttributeSpec* spec = node.op->attribute(a.first);
    return spec != nullptr && spec->default_value && ir::same_attribute(*spec->default_value, a.second);
  });
}

}  // namespace

std::string attribute_text(const Attribute& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&value)) return number_text(*d);
  if (const auto* s = std::get_if<std::string>(&value)) return "'" + *s + "'";
  if (const auto* dim = std::get_if<Dim>(&value)) return dim->str();
  if (const auto* program = std::get_if<OpaqueValue>(&value)) return "'" + program->text() + "'";
  std::vector<std::string> all;
  if (const auto* shape = std::get_if<Shape>(&value)) {
    for (const Dim& dim : *shape) all.push_back(dim.str());
  } else {
    for (const std::int64_t i : std::get<std::vector<std::int64_t>>(value)) all.push_back(std::to_string(i));
    if (all.size() == 1) return all[0];
  }
  return fmt::format("[{}]", fmt::join(all, ", "));
}

ExpressionText::ExpressionText(const ir::Graph& graph, std::map<ValueId, std::string> names)
    : graph_(graph), names_(std::move(names)) {}

const Node* ExpressionText::node_of(ValueId v) const {
  const std::int32_t node = graph_.value(v).node;
  return node < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(node)];
}

ValueId ExpressionText::without_cast(ValueId v) const {
  for (const Node* node = node_of(v);
       names_.count(v) == 0 && node != nullptr && node->op->name == "cast" && graph_.type(v).type == Type::kFloat;
       node = node_of(v))
    v = node->inputs[0];
  return v;
}

void ExpressionText::count(ValueId v) {
  v = without_cast(v);
  const Node* node = node_of(v);
  if (names_.count(v) != 0 || node == nullptr || is_leaf(*node) || ++reads_[v] > 1) return;
  for (const ValueId input : node->inputs)
    if (input != kNone) count(input);
}

std::string ExpressionText::of(const std::vector<std::pair<std::string, ValueId>>& labels) {
  reads_.clear(), shared_.clear();
  for (const auto& [label, value] : labels) count(value);
  std::string all;
  for (const auto& [label, value] : labels) all += (all.empty() ? "" : "; ") + label + " = " + text(value, 0);
  // Writing one down may find others.
  for (std::size_t k = 0; k < shared_.size(); ++k) {
    const auto [name, value] = shared_[k];
    int level = 0;
    const Node& node = *node_of(value);
    all += (k == 0 ? ", where " : ", ") + name + " = " +
           written(node, static_cast<std::size_t>(graph_.value(value).result), level);
  }
  return all;
}

// The expression, in parentheses where it binds less than `level`.
std::string ExpressionText::text(ValueId v, int level) {
  v = without_cast(v);
  if (const auto it = names_.find(v); it != names_.end()) return it->second;
  const Node* node = node_of(v);
  if (node == nullptr) return graph_.value(v).name;
  if (reads_[v] > 1) {
    shared_.emplace_back(fmt::format("t{}", shared_.size() + 1), v);
    return names_[v] = shared_.back().first;
  }
  int own = kAtom;
  std::string all = written(*node, static_cast<std::size_t>(graph_.value(v).result), own);
  return in_level(std::move(all), own, level);
}

std::string ExpressionText::written(const Node& node, std::size_t result, int& level) {
  level = kAtom;
  if (node.op->name == "constant") {
    const double value = node.attributes.number("value");
    if (value < 0) level = kMinus;
    return graph_.type(node.outputs[0]).type == Type::kBool ? (value != 0 ? "true" : "false") : number_text(value);
  }
  if (node.op->name == "dim") {
    const Dim& size = node.attributes.dim("size");
    if (!size.as_symbol() && !size.is_constant()) level = kSum;
    return size.str();
  }
  const std::string& infix = node.op->infix;
  if (!infix.empty() && has_defaults(node) && node.inputs.size() <= 2) {
    const bool unary = node.inputs.size() == 1;
    level = level_of(infix, unary);
    if (unary) return (infix == "not" ? "not " : infix) + text(node.inputs[0], level);
    // To the left, but for powers; comparisons do not follow each other.
    const bool to_right = infix == "**";
    std::string left = text(node.inputs[0], to_right || level == kCompare ? level + 1 : level);
    return left + " " + infix + " " + text(node.inputs[1], to_right ? level : level + 1);
  }
  std::string all = call(node);
  return node.outputs.size() > 1
             ? fmt::format("{} of {}", node.op->outputs.at(std::min(result, node.op->outputs.size() - 1)), all)
             : all;
}

std::string ExpressionText::call(const Node& node) {
  std::vector<std::string> parts;
  bool gap = false;  // operands behind an absent one go by name
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNone) {
      gap = true;
      continue;
    }
    parts.push_back((gap ? node.op->inputs[i].name + "=" : "") + text(node.inputs[i], 0));
  }
  for (const auto& [name, value] : node.attributes.all()) {
    const ir::AttributeSpec* spec = node.op->attribute(name);
    if (spec != nullptr && spec->default_value && ir::same_attribute(*spec->default_value, value)) continue;
    parts.push_back(name + "=" + attribute_text(value));
  }
  return fmt::format("{}({})", node.op->name, fmt::join(parts, ", "));
}

}  // namespace graphrun
