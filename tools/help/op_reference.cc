#include "tools/help/op_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/ir/operand.h"
#include "compiler/ir/printer.h"
#include "tools/help/gradient_rules.h"

namespace graphrun {
namespace {

std::string_view kind_text(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kBool: return "true or false";
    case AttributeKind::kInt: return "whole number";
    case AttributeKind::kFloat: return "number";
    case AttributeKind::kString: return "word";
    case AttributeKind::kDim: return "size";
    case AttributeKind::kShape: return "sizes";
    case AttributeKind::kInts: return "whole numbers";
    case AttributeKind::kProgram: return "program";
  }
  return "";
}

std::string_view promotion_text(const ir::OpSchema& op) {
  if (op.promotion == ir::Promotion::kArithmetic && op.inputs.size() == 1) return "";
  switch (op.promotion) {
    case ir::Promotion::kNone: return "";
    case ir::Promotion::kArithmetic: return "If an operand is FLOAT, INT32 and BOOL operands become FLOAT.";
    case ir::Promotion::kFloat: return "INT32 and BOOL become FLOAT; the result is FLOAT.";
    case ir::Promotion::kCompare: return "If an operand is FLOAT, INT32 and BOOL operands become FLOAT; the result is BOOL.";
    case ir::Promotion::kLogical: return "Operands and result are BOOL.";
    case ir::Promotion::kSelect: return "If a or b is FLOAT, the other one becomes FLOAT if it is INT32 or BOOL.";
  }
  return "";
}

struct HelpRow {
  std::string name, text;
};

std::string table(std::string_view title, const std::vector<HelpRow>& rows) {
  if (rows.empty()) return "";
  std::size_t width = 0;
  for (const HelpRow& row : rows) width = std::max(width, row.name.size());
  std::string text = fmt::format("\n{}\n", title);
  for (const HelpRow& row : rows) {
    std::string line = fmt::format("  {:<{}}  {}", row.name, width, row.text);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::vector<HelpRow> input_rows(const ir::OpSchema& op) {
  std::vector<HelpRow> rows;
  for (const ir::InputSpec& input : op.inputs) {
    const char* note = input.optional ? "optional. " : input.variadic ? "one or more. " : "";
    rows.push_back({input.name + (input.variadic ? ", ..." : ""), note + input.doc});
  }
  return rows;
}

std::vector<HelpRow> attribute_rows(const ir::OpSchema& op) {
  std::vector<HelpRow> rows;
  for (const ir::AttributeSpec& attribute : op.attributes) {
    const std::string start = attribute.default_value ? " = " + ir::print(*attribute.default_value) : ", required";
    rows.push_back({attribute.name, fmt::format("{}{}: {}", kind_text(attribute.kind), start, attribute.doc)});
  }
  return rows;
}

}  // namespace

std::string op_reference(const ir::OpSchema& op) {
  std::string text = fmt::format("{}    (family {})\n\n", ir::signature(op), op.family);
  text += op.doc + (op.doc.ends_with('\n') ? "" : "\n");
  if (!op.infix.empty()) text += fmt::format("\nIn equations: {}\n", op.infix);
  if (op.pointwise && op.inputs.size() > 1)
    text += "\nOperands broadcast: axes are aligned at the last, and only an axis of literal size 1 is stretched.\n";
  if (const std::string_view promotion = promotion_text(op); !promotion.empty()) text += fmt::format("{}\n", promotion);
  text += table("inputs", input_rows(op));
  text += table("attributes", attribute_rows(op));
  std::vector<HelpRow> results;
  for (const std::string& output : op.outputs) results.push_back({output, ""});
  text += table(results.size() == 1 ? "result" : "results", results);
  text += "\n" + gradient_section(op);
  if (op.internal) text += "\nOnly the compiler creates it; equations cannot use it.\n";
  return text;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
    if (!op->internal) names.push_back(op->name);
  }
  return names;
}

std::string op_list() {
  std::map<std::string, std::vector<std::string>> families;
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
    if (!op->internal)
      families[op->family].push_back(op->infix.empty() ? op->name : fmt::format("{} ({})", op->name, op->infix));
  }
  std::string text;
  for (const auto& [family, names] : families) {
    std::string line = fmt::format("{:<12}", family);
    for (const std::string& name : names) {
      if (line.size() + name.size() + 1 > kHelpColumns) {
        text += line + "\n";
        line = std::string(12, ' ');
      }
      line += " " + name;
    }
    text += line + "\n";
  }
  return text + "\n`graphrun help OP` describes one operator.\n";
}

}  // namespace graphrun
