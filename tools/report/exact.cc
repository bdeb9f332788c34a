#include "tools/report/tag_measure.h"

namespace graphrun {
namespace {

// The fraction of examples whose real elements are all correct.
class ExactExamples : public TagMeasure {
 public:
  explicit ExactExamples(const ir::Expression& e) : TagMeasure(e, {}) {}
  void bind(const VocabularyOf&) override {}
  void add(const BatchValues& values) override {
    const Pair pair = pair_of(values);
    const Sizes& sizes = pair.gold->sizes();
    if (sizes.empty() || sizes.back() != values.rows) {
      report_error(names_[0].at, fmt::format("'{}' is {}; expected the batch, {}, as its last axis", names_[0].name, str(sizes),
                                             values.rows));
    }
    const Mask mask(sizes, pair.lengths, names_[lengths_]);
    const auto gold = pair.gold->span<std::int32_t>(), predicted = pair.predicted->span<std::int32_t>();
    std::vector<bool> right(static_cast<std::size_t>(values.rows), true);
    for (std::size_t i = 0; i < gold.size(); ++i) {
      if (gold[i] != predicted[i] && mask[static_cast<std::int64_t>(i)]) right[i % right.size()] = false;
    }
    correct_ += std::count(right.begin(), right.end(), true);
    all_ += values.rows;
  }
  std::vector<std::pair<std::string, double>> results() const override {
    return {{"", all_ ? static_cast<double>(correct_) / static_cast<double>(all_) : 0}};
  }
  void clear() override { correct_ = all_ = 0; }
  nlohmann::json state() const override { return {{"correct", correct_}, {"all", all_}}; }
  void restore(const nlohmann::json& state) override {
    correct_ = state.at("correct").get<std::int64_t>();
    all_ = state.at("all").get<std::int64_t>();
  }

 private:
  std::int64_t correct_ = 0, all_ = 0;
};

}  // namespace

std::unique_ptr<NamedMeasure> make_exact_measure(const ir::Expression& e) { return std::make_unique<ExactExamples>(e); }

}  // namespace graphrun
