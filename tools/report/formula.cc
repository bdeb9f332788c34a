#include "tools/report/formula.h"

#include <fmt/format.h>

#include <optional>

#include "tools/report/terms.h"

namespace graphrun {
namespace {

using Kind = ir::Expression::Kind;

// One sum, mean, count, deviation or correlation.
struct Gathered {
  enum class What { kSum, kMean, kCount, kDeviation, kCorrelation } what = What::kSum;
  FormulaTerm value, second;       // their leaves are indices in `names`; second: of correlation
  std::vector<std::size_t> names;  // indices in the formula's names
  std::optional<std::size_t> lengths;
  Location at;
  Moments sums;

  double result() const {
    switch (what) {
      case What::kSum: return sums.x.value();
      case What::kMean: return sums.mean();
      case What::kCount: return static_cast<double>(sums.count);
      case What::kDeviation: return sums.deviation();
      case What::kCorrelation: return sums.correlation();
    }
    return 0;
  }
  // Whether its state has sums of squares too.
  bool of_squares() const { return what == What::kDeviation || what == What::kCorrelation; }
};

std::optional<Gathered::What> what_of(const std::string& name) {
  using What = Gathered::What;
  if (name == "sum") return What::kSum;
  if (name == "mean") return What::kMean;
  if (name == "count") return What::kCount;
  if (name == "deviation") return What::kDeviation;
  if (name == "correlation") return What::kCorrelation;
  return std::nullopt;
}

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
    for (Gathered& g : gathered_) g.sums = {};
  }
  nlohmann::json state() const override {
    nlohmann::json all = nlohmann::json::array();
    for (const Gathered& g : gathered_) {
      all.push_back(g.of_squares() ? g.sums.state() : nlohmann::json{{"sum", g.sums.x.text()}, {"count", g.sums.count}});
    }
    return all;
  }
  void restore(const nlohmann::json& state) override {
    for (std::size_t i = 0; i < gathered_.size(); ++i) {
      Moments& sums = gathered_[i].sums;
      if (gathered_[i].of_squares()) {
        sums.restore(state.at(i));
        continue;
      }
      sums.x = LongSum::parse(state.at(i).at("sum").get<std::string>());
      sums.count = state.at(i).at("count").get<std::int64_t>();
    }
  }

 private:
  FormulaTerm outer(const ir::Expression& e) {
    if (e.kind == Kind::kCall && what_of(e.text)) {
      gathered_.push_back(gather(e));
      FormulaTerm term;
      term.leaf = gathered_.size() - 1;
      return term;
    }
    if (e.kind == Kind::kName) {
      report_error(e.at, fmt::format("'{}' is outside of sum, mean and count", e.dotted()),
                   fmt::format("a report is over the whole set: mean({}), say", e.dotted()));
    }
    return operation_term(e, [&](const ir::Expression& operand) { return outer(operand); });
  }

  Gathered gather(const ir::Expression& e) {
    Gathered g;
    g.at = e.at;
    g.what = *what_of(e.text);
    const bool pairs = g.what == Gathered::What::kCorrelation;
    if (e.operands.size() != (pairs ? 2 : 1)) {
      report_error(e.at,
                   fmt::format("{} takes {}, {} are given", e.text, pairs ? "two values" : "one value", e.operands.size()));
    }
    g.value = element_term(e.operands[0], names_, g.names);
    if (pairs) g.second = element_term(e.operands[1], names_, g.names);
    if (g.names.empty()) report_error(e.at, fmt::format("{} of no output or feed", e.text));
    for (const auto& [key, value, key_at] : e.keywords) {
      if (key != "lengths" || value.kind != Kind::kName) {
        report_error(value.at, fmt::format("{} has no '{}'; expected lengths=NAME", e.text, key));
      }
      g.lengths = use(value);
    }
    return g;
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
      const auto element = [&](std::size_t leaf) { return tensors[leaf]->at(i); };
      if (g.of_squares()) {
        g.sums.add(g.value.evaluate(element), g.what == Gathered::What::kCorrelation ? g.second.evaluate(element) : 0);
        continue;
      }
      ++g.sums.count;
      if (g.what != Gathered::What::kCount) g.sums.x += g.value.evaluate(element);
    }
  }

  std::vector<NameUse> names_;
  std::vector<Gathered> gathered_;
  FormulaTerm root_;  // its leaves are indices in gathered_; declared last, since it is built from the members above
};

}  // namespace

std::unique_ptr<Measure> make_formula(const ir::Expression& formula) { return std::make_unique<Formula>(formula); }

}  // namespace graphrun
