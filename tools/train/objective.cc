#include "tools/train/objective.h"

#include <fmt/format.h>

#include "tools/model/expression.h"
#include "tools/train/initializers.h"

namespace graphrun {
namespace {

// The output for an expression; if it is only a name, the graph's own output.
std::string output_of(ir::Graph& graph, const ir::SourceText& text, const std::string& field,
                      std::vector<Diagnostic>& problems) {
  if (text.text.empty()) return "";
  if (const ir::Expression e = ir::parse_expression(text); e.kind == ir::Expression::Kind::kName && graph.output(e.dotted())) {
    return e.dotted();
  }
  const std::string name = "train." + field;
  const ir::ValueId value =
      add_expression(graph, text, name, {.field = field, .code = "E0401 bad-objective", .inputs = true}, problems);
  if (value != ir::kNone) graph.outputs.push_back({name, value});
  return name;
}

// The parameters that match one of the patterns.
std::vector<ir::Variable*> matched(ir::Graph& graph, const std::vector<NamePattern>& patterns, const char* what,
                                   std::vector<Diagnostic>& warnings) {
  std::vector<ir::Variable*> found;
  for (const NamePattern& pattern : patterns) {
    bool used = false;
    for (ir::Variable& variable : graph.variables) {
      if (variable.kind != ir::Variable::Kind::kParameter || !matches(pattern.text, graph.value(variable.value).name)) continue;
      found.push_back(&variable);
      used = true;
    }
    if (used) continue;
    warnings.push_back({Severity::kWarning,
                        "E0422 unused-pattern",
                        pattern.at,
                        fmt::format("no parameter matches {}: \"{}\"", what, pattern.text),
                        {}});
  }
  return found;
}

// Sets each parameter's factor from the first group that matches its name.
void take_rates(const ir::Graph& graph, const std::vector<RateGroup>& groups, std::map<std::string, double>& factors,
                std::vector<Diagnostic>& warnings) {
  for (const RateGroup& group : groups) {
    bool any = false, frozen = false, used = false;
    for (const ir::Variable& variable : graph.variables) {
      const std::string& name = graph.value(variable.value).name;
      if (variable.kind != ir::Variable::Kind::kParameter || !matches(group.match.text, name)) continue;
      any = true;
      if (!variable.trainable) {
        frozen = true;
        continue;
      }
      used |= factors.emplace(name, group.factor).second;
    }
    if (used) continue;
    warnings.push_back(
        {Severity::kWarning,
         "E0422 unused-pattern",
         group.match.at,
         frozen ? fmt::format("every parameter that \"{}\" matches is frozen or in a group before it", group.match.text)
         : any  ? fmt::format("groups before it have all parameters that \"{}\" matches", group.match.text)
                : fmt::format("no parameter matches group {{ match: \"{}\" }}", group.match.text),
         {}});
  }
}

}  // namespace

ir::Graph with_objective(ir::Graph graph, const Recipe& recipe, TrainOptions& options, std::vector<Diagnostic>& warnings) {
  std::vector<Diagnostic> problems;
  options.minimize = output_of(graph, recipe.minimize, "minimize", problems);
  options.per = output_of(graph, recipe.per, "per", problems);
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
  for (ir::Variable* variable : matched(graph, recipe.freeze, "freeze", warnings)) variable->trainable = false;
  for (const ir::Variable* variable : matched(graph, recipe.no_decay, "no_decay", warnings)) {
    options.undecayed.insert(graph.value(variable->value).name);
  }
  take_rates(graph, recipe.groups, options.rate_factors, warnings);
  return graph;
}

}  // namespace graphrun
