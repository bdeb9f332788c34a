#include "tools/report/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/report/named_measures.h"
#include "tools/report/text_measure.h"

namespace graphrun {
namespace {

constexpr Operation kOperations[] = {
    {"add", 2, [](double a, double b) { return a + b; }},
    {"sub", 2, [](double a, double b) { return a - b; }},
    {"mul", 2, [](double a, double b) { return a * b; }},
    {"div", 2, [](double a, double b) { return a / b; }},
    {"pow", 2, [](double a, double b) { return std::pow(a, b); }},
    {"neg", 1, [](double a, double) { return -a; }},
    {"exp", 1, [](double a, double) { return std::exp(a); }},
    {"log", 1, [](double a, double) { return std::log(a); }},
    {"sqrt", 1, [](double a, double) { return std::sqrt(a); }},
    {"abs", 1, [](double a, double) { return std::fabs(a); }},
    {"eq", 2, [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"ne", 2, [](double a, double b) { return a != b ? 1.0 : 0.0; }},
    {"lt", 2, [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"le", 2, [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"gt", 2, [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"ge", 2, [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
};

// A suggestion for an unknown name, as the beginning of a help text; "" if there is none.
std::string near_measure(const std::string& name) {
  std::vector<std::string> known = {"sum", "mean", "count", "deviation", "correlation"};
  for (const Operation& operation : kOperations) known.emplace_back(operation.name);
  for (const auto& more : {named_measures(), text_measures()}) known.insert(known.end(), more.begin(), more.end());
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";
  const std::string near = did_you_mean(name, known);
  return near.empty() ? "" : near + " known are ";
}

}  // namespace

const Operation* find_operation(const std::string& name) {
  for (const Operation& operation : kOperations) {
    if (name == operation.name) return &operation;
  }
  return nullptr;
}

FormulaTerm operation_term(const ir::Expression& e) {
  using Kind = ir::Expression::Kind;
  FormulaTerm term;
  if (e.kind == Kind::kNumber || e.kind == Kind::kBool) {
    term.number = e.number;
    return term;
  }
  if (e.kind != Kind::kCall) report_error(e.at, "expected a formula over sum, mean and count of outputs and feeds");
  term.operation = find_operation(e.text);
  if (!term.operation || !e.keywords.empty() || e.operands.size() != term.operation->operands) {
    report_error(
        e.at, fmt::format("'{}' is not known to reports in this form", e.text),
        near_measure(e.text) +
            "sum, mean, count, deviation, correlation, exp, log, sqrt, abs, + - * / ** and comparisons; accuracy, "
            "exact, spans, segmentation, bleu, multi_bleu, chrf, cer, wer and exact_match cannot be part of a formula");
  }
  return term;
}

FormulaTerm element_term(const ir::Expression& e, std::vector<NameUse>& names, std::vector<std::size_t>& leaves) {
  if (e.kind != ir::Expression::Kind::kName) {
    return operation_term(e, [&](const ir::Expression& operand) { return element_term(operand, names, leaves); });
  }
  names.push_back({e.dotted(), e.at});
  leaves.push_back(names.size() - 1);
  FormulaTerm term;
  term.leaf = leaves.size() - 1;
  return term;
}

void Moments::add(double a, double b) {
  ++count;
  x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
}

double Moments::deviation() const {
  const auto n = static_cast<double>(count);
  return std::sqrt(std::max(0.0, xx / n - x / n * (x / n)));
}

double Moments::correlation() const {
  const auto n = static_cast<double>(count);
  return (xy / n - x / n * (y / n)) / std::sqrt((xx / n - x / n * (x / n)) * (yy / n - y / n * (y / n)));
}

nlohmann::json Moments::state() const {
  nlohmann::json json = {{"count", count}};
  for (const auto& [name, sum] : {std::pair("sum", x), {"y", y}, {"xx", xx}, {"yy", yy}, {"xy", xy}}) {
    json[name] = fmt::format("{:a}", sum);
  }
  return json;
}

void Moments::restore(const nlohmann::json& state) {
  count = state.at("count").get<std::int64_t>();
  const auto sum = [&](const char* name) { return std::strtod(state.at(name).get<std::string>().c_str(), nullptr); };
  x = sum("sum"), y = sum("y"), xx = sum("xx"), yy = sum("yy"), xy = sum("xy");
}

}  // namespace graphrun
