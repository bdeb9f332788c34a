#include "tools/help/gradient_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/operand.h"
#include "tools/help/expression_text.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::ValueId;

constexpr std::size_t kRuleColumn = 38;  // the column where rules begin

// Operands as "INT32[m, n]", or "[m, n]" for FLOAT; "" if absent.
struct TypicalUse {
  std::vector<std::string> operands;
  ir::NamedAttributes attributes;
};

std::int64_t whole(std::int64_t x) { return x; }  // selects the attribute's type
std::vector<std::int64_t> axis_list(std::int64_t axis) { return {axis}; }

ir::TensorType parse_type(const std::string& text) {
  const std::size_t bracket = text.find('[');
  const std::string word = text.substr(0, bracket);
  ir::TensorType type;
  type.type = word == "INT32" ? Type::kInt32 : word == "BOOL" ? Type::kBool : Type::kFloat;
  std::string part;
  for (const char c : text.substr(bracket + 1)) {
    if (c != ',' && c != ']') {
      if (c != ' ') part += c;
      continue;
    }
    if (!part.empty()) type.shape.push_back(Dim::parse(part).value());
    part.clear();
  }
  return type;
}

Shape shape(const std::string& text) { return parse_type(text).shape; }

// Uses of operators for which one-dimensional operands and default attributes do not suffice.
const std::map<std::string, TypicalUse, std::less<>>& typical_uses() {
  static const std::map<std::string, TypicalUse, std::less<>> kUses = {
      {"broadcast_to", {{"[n]"}, {{"shape", shape("[m, n]")}}}},
      {"cast", {{"[n]"}, {{"type", std::string("FLOAT")}}}},
      {"concat", {{"[m, n]", "[k, n]"}, {{"axis", whole(0)}}}},
      {"cross_entropy", {{"[m, n]", "INT32[m]"}, {}}},
      {"cumsum", {{"[m, n]"}, {{"axis", whole(0)}}}},
      {"dropout", {{"[n]"}, {{"rate", 0.5}, {"key", std::string("k")}}}},  // forward and backward use the same key
      {"expand", {{"[n]"}, {{"axis", whole(0)}}}},
      {"gather", {{"[n, m]", "INT32[k]"}, {}}},
      {"index", {{"[m, n]"}, {{"axis", whole(0)}, {"at", Dim(2)}}}},
      {"last", {{"[m, n]", "INT32[n]"}, {}}},
      {"layer_norm", {{"[m, n]", "[n]", "[n]"}, {}}},
      {"log_softmax", {{"[m, n]"}, {}}},
      {"logsumexp", {{"[m, n]"}, {{"axis", axis_list(1)}}}},
      {"mask", {{"[m, n]", "INT32[n]"}, {{"axis", whole(0)}}}},
      {"matmul", {{"[m, k]", "[k, n]"}, {}}},
      {"max", {{"[m, n]"}, {{"axis", axis_list(1)}}}},
      {"mean", {{"[m, n]"}, {{"axis", axis_list(1)}}}},
      {"min", {{"[m, n]"}, {{"axis", axis_list(1)}}}},
      {"normalize", {{"[m, n]"}, {}}},
      {"pad", {{"[m, n]"}, {{"axis", whole(0)}, {"begin", Dim(1)}, {"size", *Dim::parse("m+1")}}}},
      {"pick", {{"[m, n]", "INT32[m]"}, {}}},
      {"put", {{"[m, n]", "[n]", "INT32[]"}, {}}},
      {"reshape", {{"[m, n]"}, {{"shape", shape("[m*n]")}}}},
      {"scatter_add", {{"INT32[k]", "[k, n]"}, {{"rows", *Dim::parse("m")}}}},
      {"slice", {{"[m, n]"}, {{"axis", whole(1)}, {"begin", Dim(1)}, {"end", *Dim::parse("k")}}}},
      {"softmax", {{"[m, n]"}, {}}},
      {"split", {{"[m, 2*n]"}, {{"parts", whole(2)}, {"axis", whole(1)}}}},
      {"stack", {{"[n]", "[n]"}, {}}},
      {"sum", {{"[m, n]"}, {{"axis", axis_list(1)}}}},
      {"sum_to", {{"[m, n]"}, {{"shape", shape("[n]")}}}},
      {"topk", {{"[m, 9]"}, {{"k", whole(3)}}}},
      {"transpose", {{"[m, n]"}, {{"permutation", std::vector<std::int64_t>{1, 0}}}}},
      {"where", {{"BOOL[n]", "[n]", "[n]"}, {}}},
  };
  return kUses;
}

TypicalUse use_of(const ir::OpSchema& op) {
  const auto it = typical_uses().find(op.name);
  if (it != typical_uses().end()) return it->second;
  TypicalUse use;
  for (const ir::InputSpec& input : op.inputs) use.operands.emplace_back(input.optional ? "" : "[n]");
  return use;
}

// The names of results and operands; variadic operands are numbered.
std::string operand_name(const ir::OpSchema& op, std::size_t i) {
  const std::size_t last = op.inputs.size() - 1;
  if (!op.variadic() || i < last) return op.inputs[i].name;
  return fmt::format("{}{}", op.inputs[last].name, i - last + 1);
}
std::string result_name(const ir::OpSchema& op, std::size_t i, std::size_t results) {
  if (results <= op.outputs.size()) return op.outputs[i];
  return fmt::format("{}{}", op.outputs.back(), i + 1);
}

std::string use_text(const ir::OpSchema& op, const TypicalUse& use) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < use.operands.size(); ++i) {
    if (use.operands[i].empty()) continue;
    parts.push_back(operand_name(op, i) + (op.pointwise ? "" : " " + use.operands[i].substr(use.operands[i].find('['))));
  }
  for (const auto& [name, value] : use.attributes) parts.push_back(name + "=" + ir::write_attribute(value));
  return fmt::format("{}({})", op.name, fmt::join(parts, ", "));
}

struct ByName {
  bool operator()(const ir::OpSchema* a, const ir::OpSchema* b) const { return a->name < b->name; }
};

struct DerivedText {
  std::string text;
  std::set<const ir::OpSchema*> internal;  // internal operators that it uses
};

DerivedText derived(const ir::OpSchema& op, const TypicalUse& use) {
  ir::Graph graph;
  ir::Builder b(graph);
  std::map<ValueId, std::string> names;
  std::vector<ValueId> inputs;
  std::vector<bool> needs;
  for (std::size_t i = 0; i < use.operands.size(); ++i) {
    const std::string& text = use.operands[i];
    const ValueId x = text.empty() ? kNone : b.input(operand_name(op, i), parse_type(text));
    if (x != kNone) names[x] = operand_name(op, i);
    inputs.push_back(x);
    needs.push_back(x != kNone && graph.type(x).type == Type::kFloat);
  }
  if (!op.variadic() && inputs.size() < op.inputs.size()) {
    inputs.resize(op.inputs.size(), kNone);
    needs.resize(op.inputs.size(), false);
  }
  const Attributes attributes = ir::complete(op, use.attributes);
  const std::vector<ValueId> outputs = b.node(op, inputs, use.attributes);
  std::vector<ValueId> gradients;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = result_name(op, i, outputs.size());
    if (names.count(outputs[i]) == 0) names[outputs[i]] = name;
    if (graph.type(outputs[i]).type != Type::kFloat) {
      gradients.push_back(kNone);
      continue;
    }
    gradients.push_back(b.input("g", graph.type(outputs[i])));
    names[gradients.back()] = outputs.size() == 1 ? "g" : "g_" + name;
  }
  ir::GradientContext c(b, op, attributes, inputs, outputs, gradients, needs);
  op.gradient(c);
  std::vector<std::pair<std::string, ValueId>> results;
  std::string none;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!needs[i]) continue;
    if (c.d_inputs[i] != kNone) {
      results.emplace_back("d" + operand_name(op, i), c.d_inputs[i]);
    } else {
      none += fmt::format("; d{} = 0", operand_name(op, i));
    }
  }
  DerivedText all;
  for (const ir::Node& node : graph.nodes)
    if (node.op->internal) all.internal.insert(node.op);
  all.text = ExpressionText(graph, std::move(names)).of(results) + none;
  if (all.text.starts_with("; ")) all.text.erase(0, 2);
  return all;
}

constexpr std::string_view kAbout =
    "The gradient of each FLOAT operand: what the operator's rule builds for operands of the shapes\n"
    "shown, as an expression. g is the gradient of the result y; if there are several results, g_NAME is\n"
    "the gradient of NAME. If a pointwise operator broadcasts an operand, sum_to sums its gradient to\n"
    "the operand's shape.\n";

// Appends `text` to `line`, broken between words; further lines begin at column `indent`.
std::string broken(std::string line, std::string_view text, std::size_t indent) {
  std::string all;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!first && count_code_points(line) + 1 + count_code_points(word) > kHelpColumns) {
      all += line + "\n";
      line = std::string(indent, ' ') + std::string(word);
    } else {
      line += (first ? "" : " ") + std::string(word);
    }
    first = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all + line + "\n";
}

// "  use   rule", on two lines if the use is long.
std::string rule_lines(const GradientRuleText& rule) {
  std::string lead = "  " + rule.use;
  std::string above;
  if (count_code_points(lead) + 2 > kRuleColumn) above = std::exchange(lead, "") + "\n";
  lead.append(kRuleColumn - count_code_points(lead), ' ');
  return above + broken(std::move(lead), rule.rule, kRuleColumn);
}

// Internal operators: the signature and the documentation of each.
std::string internal_text(const std::set<const ir::OpSchema*, ByName>& ops) {
  std::string text;
  for (const ir::OpSchema* op : ops) {
    text += fmt::format("  {}\n", ir::signature(*op));
    std::istringstream doc(op->doc);
    for (std::string line; std::getline(doc, line);) {
      const std::size_t indent = 4 + std::min(line.find_first_not_of(' '), line.size());
      text += broken(std::string(indent, ' '), std::string_view(line).substr(indent - 4), indent);
    }
  }
  return text;
}

}  // namespace

GradientRuleText gradient_rule(const ir::OpSchema& op) {
  if (op.name == "scan")
    return {op.name, "the gradient is a scan in the other direction, whose body is the gradient of this one's", {}};
  if (!op.gradient) return {op.name, "no gradient: " + op.no_gradient, {}};
  const TypicalUse use = use_of(op);
  try {
    DerivedText rule = derived(op, use);
    return {use_text(op, use), std::move(rule.text), std::move(rule.internal)};
  } catch (const ir::OpError& error) {
    throw InternalError(op.name + ": tools/help/gradient_rules.cc has no typical use of it: " + error.what());
  }
}

std::string gradient_rules() {
  std::map<std::string, std::vector<const ir::OpSchema*>> families;
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all())
    if (!op->internal || op->name == "scan") families[op->family].push_back(op);
  std::string text(kAbout);
  std::set<const ir::OpSchema*, ByName> internal;
  for (const auto& [family, ops] : families) {
    text += fmt::format("\n{}\n", family);
    for (const ir::OpSchema* op : ops) {
      const GradientRuleText rule = gradient_rule(*op);
      text += rule_lines(rule);
      internal.insert(rule.internal.begin(), rule.internal.end());
    }
  }
  return text + "\ninternal operators used in these rules\n" + internal_text(internal);
}

std::string gradient_section(const ir::OpSchema& op) {
  if (!op.gradient) return fmt::format("gradient: none: {}\n", op.no_gradient);
  if (op.internal && op.name != "scan") return "gradient: yes\n";
  const GradientRuleText rule = gradient_rule(op);
  std::string text = "gradient (g: the gradient of the result)\n" + rule_lines(rule);
  if (rule.internal.empty()) return text;
  return text + "\ninternal operators used\n" + internal_text({rule.internal.begin(), rule.internal.end()});
}

}  // namespace graphrun
