#include "tools/report/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "tools/report/named_measures.h"
#include "tools/report/text_measure.h"

namespace graphrun {
namespace {

using Kind = ir::Expression::Kind;

// An operation on numbers, with the name of its op.
struct Operation {
  const char* name;
  std::size_t operands;
  double (*apply)(double, double);
};

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

const Operation* find_operation(const std::string& name) {
  for (const Operation& operation : kOperations) {
    if (name == operation.name) return &operation;
  }
  return nullptr;
}

// A suggestion for an unknown name, as the beginning of a help text; "" if there is none.
std::string near_measure(const std::string& name) {
  std::vector<std::string> known = {"sum", "mean", "count"};
  for (const Operation& operation : kOperations) known.emplace_back(operation.name);
  for (const auto& more : {named_measures(), text_measures()}) known.insert(known.end(), more.begin(), more.end());
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";
  const std::string near = did_you_mean(name, known);
  return near.empty() ? "" : near + " known are ";
}

// Numbers, leaves (a value of the batch, or an accumulated sum) and operations on them.
struct FormulaTerm {
  double number = 0;
  std::optional<std::size_t> leaf;
  const Operation* operation = nullptr;
  std::vector<FormulaTerm> operands;

  template <class Leaf>
  double evaluate(const Leaf& value_of) const {
    if (leaf) return value_of(*leaf);
    if (!operation) return number;
    const double first = operands[0].evaluate(value_of);
    return operation->apply(first, operands.size() > 1 ? operands[1].evaluate(value_of) : 0);
  }
};

// One sum, mean or count.
struct Gathered {
  enum class What { kSum, kMean, kCount } what = What::kSum;
  FormulaTerm value;               // its leaves are indices in `names`
  std::vector<std::size_t> names;  // indices in the formula's names
  std::optional<std::size_t> lengths;
  Location at;
  double sum = 0;
  std::int64_t count = 0;

  double result() const {
    if (what == What::kCount) return static_cast<double>(count);
    return what == What::kSum ? sum : sum / static_cast<double>(count);
  }
};

class Formula : public Measure {
 public:
  explicit Formula(const ir::Expression& e) : root_(outer(e)) {}

  const std::vector<NameUse>& names() const override { return names_; }
  std::vector<std::pair<std::string, double>> results() const override {
    return {{"", root_.evaluate([&](std::size_t i) { return gathered_[i].result(); })}};
  }
  void add(const BatchValues& values) override {
    for (Gathered& g : gathered_) gather(g, values);
  }
  void clear() override {
    for (Gathered& g : gathered_) g.sum = 0, g.count = 0;
  }
  nlohmann::json state() const override {
    nlohmann::json all = nlohmann::json::array();
    for (const Gathered& g : gathered_) all.push_back({{"sum", fmt::format("{:a}", g.sum)}, {"count", g.count}});
    return all;
  }
  void restore(const nlohmann::json& state) override {
    for (std::size_t i = 0; i < gathered_.size(); ++i) {
      gathered_[i].sum = std::strtod(state.at(i).at("sum").get<std::string>().c_str(), nullptr);
      gathered_[i].count = state.at(i).at("count").get<std::int64_t>();
    }
  }

 private:
  FormulaTerm outer(const ir::Expression& e) {
    if (e.kind == Kind::kCall && (e.text == "sum" || e.text == "mean" || e.text == "count")) {
      gathered_.push_back(gather(e));
      FormulaTerm term;
      term.leaf = gathered_.size() - 1;
      return term;
    }
    if (e.kind == Kind::kName) {
      report_error(e.at, fmt::format("'{}' is outside of sum, mean and count", e.dotted()),
                   fmt::format("a report is over the whole set: mean({}), say", e.dotted()));
    }
    return operation(e, [&](const ir::Expression& operand) { return outer(operand); });
  }

  Gathered gather(const ir::Expression& e) {
    Gathered g;
    g.at = e.at;
    g.what = e.text == "sum" ? Gathered::What::kSum : e.text == "mean" ? Gathered::What::kMean : Gathered::What::kCount;
    if (e.operands.size() != 1) report_error(e.at, fmt::format("{} takes one value, {} are given", e.text, e.operands.size()));
    g.value = inner(e.operands[0], g);
    if (g.names.empty()) report_error(e.at, fmt::format("{} of no output or feed", e.text));
    for (const auto& [key, value, key_at] : e.keywords) {
      if (key != "lengths" || value.kind != Kind::kName) {
        report_error(value.at, fmt::format("{} has no '{}'; expected lengths=NAME", e.text, key));
      }
      g.lengths = use(value);
    }
    return g;
  }

  FormulaTerm inner(const ir::Expression& e, Gathered& g) {
    if (e.kind != Kind::kName) return operation(e, [&](const ir::Expression& operand) { return inner(operand, g); });
    g.names.push_back(use(e));
    FormulaTerm term;
    term.leaf = g.names.size() - 1;
    return term;
  }

  template <class Operand>
  FormulaTerm operation(const ir::Expression& e, const Operand& operand) {
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
              "sum, mean, count, exp, log, sqrt, abs, + - * / ** and comparisons; accuracy, exact, spans, segmentation, "
              "bleu, multi_bleu, chrf, cer, wer and exact_match cannot be part of a formula");
    }
    for (const ir::Expression& o : e.operands) term.operands.push_back(operand(o));
    return term;
  }

  std::size_t use(const ir::Expression& e) {
    names_.push_back({e.dotted(), e.at});
    return names_.size() - 1;
  }

  // Adds one batch to a sum.
  void gather(Gathered& g, const BatchValues& values) const {
    std::vector<const Tensor*> tensors;
    Tensor rows;
    const Tensor* shaped = nullptr;
    for (const std::size_t name : g.names) {
      if (names_[name].name == kRowsName && !values.tensors.count(kRowsName)) {
        if (rows.empty()) {
          rows = Tensor::of<float>({values.rows}, std::vector<float>(static_cast<std::size_t>(values.rows), 1.0f));
        }
        tensors.push_back(&rows);
      } else {
        tensors.push_back(&values.at(names_[name].name));
      }
      if (!shaped) shaped = tensors.back();
      if (tensors.back()->sizes() != shaped->sizes()) {
        report_error(names_[name].at, fmt::format("'{}' is {}, '{}' is {}; expected equal sizes", names_[name].name,
                                                  str(tensors.back()->sizes()), names_[g.names[0]].name, str(shaped->sizes())));
      }
    }
    if (shaped->sizes().empty() && g.what != Gathered::What::kSum) {
      report_error(g.at,
                   fmt::format("'{}' is one number for each batch: its mean would be a mean of means", names_[g.names[0]].name),
                   "report a value that has an element for each row or step");
    }
    const Mask mask(shaped->sizes(), g.lengths ? &values.at(names_[*g.lengths].name) : nullptr,
                    names_[g.lengths.value_or(g.names[0])]);
    const std::int64_t elements = shaped->count();
    for (std::int64_t i = 0; i < elements; ++i) {
      if (!mask[i]) continue;
      ++g.count;
      if (g.what != Gathered::What::kCount) g.sum += g.value.evaluate([&](std::size_t leaf) { return tensors[leaf]->at(i); });
    }
  }

  std::vector<NameUse> names_;
  std::vector<Gathered> gathered_;
  FormulaTerm root_;  // its leaves are indices in gathered_; declared last, since it is built from the members above
};

}  // namespace

std::unique_ptr<Measure> make_formula(const ir::Expression& formula) { return std::make_unique<Formula>(formula); }

}  // namespace graphrun
