#include "tools/model/expression.h"

#include <fmt/format.h>

#include <map>

#include "compiler/ir/builder.h"
#include "compiler/ir/foreign_names.h"

namespace graphrun {
namespace {

class Names {
 public:
  Names(const ir::Graph& graph, const ExpressionRules& rules, std::vector<Diagnostic>& problems)
      : rules_(rules), problems_(problems) {
    for (const ir::Output& output : graph.outputs) values_.emplace(output.name, output.value);
    if (!rules.inputs) return;
    for (const ir::Input& input : graph.inputs) {
      values_.emplace(graph.value(input.value).name, input.value);
      for (const Dim& dim : graph.type(input.value).shape) {
        for (const Symbol symbol : dim.symbols()) sizes_.emplace(symbol.name(), Dim(symbol));
      }
    }
  }

  void check(const ir::Expression& e) {
    using Kind = ir::Expression::Kind;
    if (e.kind == Kind::kName) {
      find(e);
    } else if (e.kind == Kind::kCall && !e.infix && !is_op(e.text)) {
      unknown(e.at, "op", e.text, ir::unknown_op_help(e.text));
    } else if (e.kind == Kind::kGraph || e.kind == Kind::kList || e.kind == Kind::kChoice || e.kind == Kind::kIndex) {
      problems_.push_back({Severity::kError,
                           rules_.code,
                           e.at,
                           fmt::format("`{}` may only contain the graph's {}, ops and numbers", rules_.field,
                                       rules_.inputs ? "outputs, inputs, sizes" : "outputs"),
                           {"help: write slice(x, axis=0, begin=i, end=j) for x[i:j]"}});
    }
    for (const ir::Expression& operand : e.operands) check(operand);
    for (const auto& [name, value, name_at] : e.keywords) check(value);
  }

  // The values of the names in the expression.
  std::vector<std::pair<std::string, ir::ValueId>> values(ir::Builder& builder) const {
    std::vector<std::pair<std::string, ir::ValueId>> all;
    for (const std::string& name : used_) {
      const auto value = values_.find(name);
      all.emplace_back(name, value != values_.end() ? value->second : builder.dim(sizes_.at(name)));
    }
    return all;
  }

 private:
  void find(const ir::Expression& e) {
    const std::string name = e.dotted();
    if (values_.count(name) != 0 || sizes_.count(name) != 0) {
      used_.push_back(name);
      return;
    }
    std::vector<std::string> known;
    for (const auto& [other, value] : values_) known.push_back(other);
    for (const auto& [other, size] : sizes_) known.push_back(other);
    const std::string here = ir::here_value_is(name);
    unknown(e.at, rules_.inputs ? "output, input or size" : "output", name, here.empty() ? did_you_mean(name, known) : here);
  }

  static bool is_op(const std::string& name) {
    const ir::OpSchema* op = ir::OpRegistry::instance().find(name);
    return op != nullptr && !op->internal;
  }

  void unknown(const Location& at, const std::string& what, const std::string& name, const std::string& help) {
    Diagnostic problem{Severity::kError, rules_.code, at, fmt::format("there is no {} '{}'", what, name), {}};
    if (!help.empty()) problem.notes.push_back("help: " + help);
    problems_.push_back(std::move(problem));
  }

  const ExpressionRules& rules_;
  std::vector<Diagnostic>& problems_;
  std::map<std::string, ir::ValueId> values_;
  std::map<std::string, Dim> sizes_;
  std::vector<std::string> used_;
};

}  // namespace

ir::ValueId add_expression(ir::Graph& graph, const ir::SourceText& text, const std::string& name, const ExpressionRules& rules,
                           std::vector<Diagnostic>& problems) {
  const std::size_t before = problems.size();
  Names names(graph, rules, problems);
  try {
    names.check(ir::parse_expression(text));
  } catch (const UserError& error) {
    problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
  }
  if (problems.size() != before) return ir::kNone;
  ir::Graph extended = graph;
  ir::Builder builder(extended);
  builder.set_name(name);
  builder.set_location(text.at(0, text.text.size()));
  try {
    const ir::ValueId value = builder.equation(text.text, names.values(builder));
    graph = std::move(extended);
    return value;
  } catch (const ir::OpError& error) {
    std::vector<std::string> notes;
    if (!error.help.empty()) notes.push_back(error.help);
    problems.push_back({Severity::kError, rules.code, builder.location(), error.what(), notes});
    return ir::kNone;
  }
}

}  // namespace graphrun
