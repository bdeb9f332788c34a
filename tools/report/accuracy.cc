#include "tools/report/tag_measure.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostClasses = 256;  // the most classes for which a matrix is kept

class Accuracy : public TagMeasure {
 public:
  explicit Accuracy(const ir::Expression& e) : TagMeasure(e, {}) {}
  // Without labels, or with very many, only the accuracy is reported.
  void bind(const VocabularyOf& vocabulary) override {
    const Vocabulary* labels = vocabulary(names_[0].name);
    if (!labels || labels->entries().size() > kMostClasses) return;
    labels_ = labels->entries();
    clear();
  }
  void add(const BatchValues& values) override {
    const Pair pair = pair_of(values);
    const Mask mask(pair.gold->sizes(), pair.lengths, names_[lengths_]);
    const auto gold = pair.gold->span<std::int32_t>(), predicted = pair.predicted->span<std::int32_t>();
    for (std::size_t i = 0; i < gold.size(); ++i) {
      if (!mask[static_cast<std::int64_t>(i)]) continue;
      ++all_;
      correct_ += gold[i] == predicted[i];
      if (!labels_.empty()) ++confusion_[place(gold[i], 0) * labels_.size() + place(predicted[i], 1)];
    }
  }
  std::vector<std::pair<std::string, double>> results() const override {
    return {{"", all_ ? static_cast<double>(correct_) / static_cast<double>(all_) : 0}};
  }
  std::vector<Table> details() const override {
    if (labels_.empty()) return {};
    Table classes = match_table("classes"), matrix{"gold (rows) against predicted (columns)", labels_, {}, true};
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      Matches matches;
      std::vector<double> row;
      for (std::size_t j = 0; j < labels_.size(); ++j) {
        matches.gold += confusion_[i * labels_.size() + j];
        matches.predicted += confusion_[j * labels_.size() + i];
        row.push_back(static_cast<double>(confusion_[i * labels_.size() + j]));
      }
      matches.correct = confusion_[i * labels_.size() + i];
      add_matches(classes, labels_[i], matches);
      matrix.rows.push_back({labels_[i], std::move(row)});
    }
    return {classes, matrix};
  }
  void clear() override {
    correct_ = all_ = 0;
    confusion_.assign(labels_.size() * labels_.size(), 0);
  }
  nlohmann::json state() const override { return {{"correct", correct_}, {"all", all_}, {"confusion", confusion_}}; }
  void restore(const nlohmann::json& state) override {
    correct_ = state.at("correct").get<std::int64_t>();
    all_ = state.at("all").get<std::int64_t>();
    confusion_ = state.at("confusion").get<std::vector<std::int64_t>>();
    confusion_.resize(labels_.size() * labels_.size());
  }

 private:
  std::size_t place(std::int32_t number, std::size_t name) const {
    if (number < 0 || static_cast<std::size_t>(number) >= labels_.size()) {
      report_error(names_[name].at,
                   fmt::format("'{}' has the label {}; there are {}", names_[name].name, number, labels_.size()));
    }
    return static_cast<std::size_t>(number);
  }

  std::vector<std::string> labels_;      // empty: no matrix
  std::vector<std::int64_t> confusion_;  // gold by predicted
  std::int64_t correct_ = 0, all_ = 0;
};

}  // namespace

std::unique_ptr<NamedMeasure> make_accuracy(const ir::Expression& e) { return std::make_unique<Accuracy>(e); }

}  // namespace graphrun
