#include "tools/model/expression.h"

#include <fmt/format.h>

#include <map>

#include "compiler/ir/builder.h"

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
    } else if (e.kind == Kind::kCall && ir::OpRegistry::instance().find(e.text) == nullptr) {
      std::vector<std::string> known;
      for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
        if (!op->internal) known.push_back(op->name);
      }
      unknown(e.at, "op", e.text, known);
    } else if (e.kind == Kind::kGraph || e.kind == Kind::kList || e.kind == Kind::kChoice || e.kind == Kind::kIndex) {
      problems_.push_back({Severity::kError,
                           rules_.code,
                           e.at,
                           fmt::format("`{}` is made of the graph's {}, ops and numbers alone", rules_.field,
                                       rules_.inputs ? "outputs, inputs, sizes" : "outputs"),
                           {"help: slice(x, axis=0, begin=i, end=j) stands for x[i:j]"}});
    }
    for (const ir::Expression& operand : e.operands) check(operand);
    for (const auto& [name, value] : e.keywords) check(value);
  }

  // Of the names that stand in the expression.
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
    unknown(e.at, rules_.inputs ? "output, input or size" : "output", name, known);
  }

  void unknown(const Location& at, const std::string& what, const std::string& name, const std::vector<std::string>& known) {
    Diagnostic problem{Severity::kError, rules_.code, at, fmt::format("there is no {} '{}'", what, name), {}};
    if (const std::string near = did_you_mean(name, known); !near.empty()) problem.notes.push_back("help: " + near);
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
