#include "tools/report/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

// The variance times the square of the count; 0 if it is nothing but rounding: each sum has 105 bits or so, and its last ones
// are lost as it grows.
double spread_of(std::int64_t count, const LongSum& squares, const LongSum& sum) {
  const auto n = static_cast<double>(count);
  const LongSum all = LongSum(n) * squares;
  const double spread = (all - sum * sum).value();
  return spread <= n * 0x1p-100 * all.value() ? 0 : spread;
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
  x += a, y += b;
  xx.add_product(a, a), yy.add_product(b, b), xy.add_product(a, b);
}

double Moments::deviation() const { return std::sqrt(spread_of(count, xx, x)) / static_cast<double>(count); }

double Moments::correlation() const {
  const double of_x = spread_of(count, xx, x), of_y = spread_of(count, yy, y);
  if (of_x == 0 || of_y == 0) return std::numeric_limits<double>::quiet_NaN();
  return (LongSum(static_cast<double>(count)) * xy - x * y).value() / (std::sqrt(of_x) * std::sqrt(of_y));
}

nlohmann::json Moments::state() const {
  return {{"count", count}, {"sum", x.text()}, {"y", y.text()}, {"xx", xx.text()}, {"yy", yy.text()}, {"xy", xy.text()}};
}

void Moments::restore(const nlohmann::json& state) {
  count = state.at("count").get<std::int64_t>();
  const auto sum = [&](const char* name) { return LongSum::parse(state.at(name).get<std::string>()); };
  x = sum("sum"), y = sum("y"), xx = sum("xx"), yy = sum("yy"), xy = sum("xy");
}

}  // namespace graphrun
