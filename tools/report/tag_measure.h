// Shared by the measures of tags: gold, predicted, lengths, and the labels of numbers.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/report/named_measures.h"
#include "tools/report/spans.h"

namespace graphrun {

inline constexpr const char* kGoldIsAFeed = "the first argument is the gold: a feed";

// A measure with the arguments gold, predicted and lengths.
class TagMeasure : public NamedMeasure {
 public:
  TagMeasure(const ir::Expression& e, std::initializer_list<std::string_view> further) : at_(e.at) {
    const bool names =
        std::all_of(e.operands.begin(), e.operands.end(), [](const auto& o) { return o.kind == ir::Expression::Kind::kName; });
    if (e.operands.size() != 2 || !names) {
      report_error(e.at, fmt::format("{0} takes two names: {0}(gold, predicted, lengths=lengths)", e.text));
    }
    for (const ir::Expression& operand : e.operands) names_.push_back({operand.dotted(), operand.at});
    for (const auto& [key, value, key_at] : e.keywords) {
      const bool known = key == "lengths" || std::find(further.begin(), further.end(), key) != further.end();
      if (!known || value.kind != ir::Expression::Kind::kName) {
        report_error(value.at, fmt::format("{} has no '{}'; expected lengths=NAME", e.text, key));
      }
      if (key == "lengths") {
        lengths_ = names_.size();
      } else {
        further_[key] = names_.size();
      }
      names_.push_back({value.dotted(), value.at});
    }
  }
  const std::vector<NameUse>& names() const override { return names_; }

 protected:
  struct Pair {
    const Tensor* gold;
    const Tensor* predicted;
    const Tensor* lengths;  // null if not given
  };
  Pair pair_of(const BatchValues& values) const {
    const Pair pair{&values.at(names_[0].name), &values.at(names_[1].name),
                    lengths_ ? &values.at(names_[lengths_].name) : nullptr};
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (values.at(names_[i].name).dtype() != DType::kInt32) {
        report_error(names_[i].at, fmt::format("'{}' is {}; expected numbers of labels, INT32", names_[i].name,
                                               name_of(values.at(names_[i].name).dtype())));
      }
    }
    if (pair.gold->sizes() != pair.predicted->sizes()) {
      report_error(names_[1].at, fmt::format("'{}' {} against '{}' {}; expected equal sizes", names_[1].name,
                                             str(pair.predicted->sizes()), names_[0].name, str(pair.gold->sizes())));
    }
    return pair;
  }

  // The vocabulary of a feed; an error if the feed has none.
  const Vocabulary& entries_of(const NameUse& use, const VocabularyOf& vocabulary, const char* role) const {
    if (const Vocabulary* entries = vocabulary(use.name)) return *entries;
    report_error(at_, fmt::format("'{}' has no labels: it is not a feed of a field's entries", use.name), role);
  }

  // The labels of a row of [time, batch], without padding.
  static std::vector<std::int32_t> row_of(const Tensor& tensor, std::int64_t row, std::int64_t steps) {
    std::vector<std::int32_t> labels(static_cast<std::size_t>(steps));
    const std::int64_t batch = tensor.sizes()[1];
    for (std::int64_t t = 0; t < steps; ++t) labels[static_cast<std::size_t>(t)] = tensor.data<std::int32_t>()[t * batch + row];
    return labels;
  }
  void each_row(const Pair& pair, const std::function<void(std::int64_t row, std::int64_t steps)>& visit) const {
    const Sizes& sizes = pair.gold->sizes();
    if (sizes.size() != 2) {
      report_error(names_[0].at, fmt::format("'{}' is {}; expected [time, batch]", names_[0].name, str(sizes)));
    }
    const Mask fits(sizes, pair.lengths, names_[lengths_]);
    for (std::int64_t row = 0; row < sizes[1]; ++row) {
      const std::int64_t steps = pair.lengths ? pair.lengths->data<std::int32_t>()[row] : sizes[0];
      visit(row, std::clamp<std::int64_t>(steps, 0, sizes[0]));
    }
  }

  // Another argument by its keyword; null if not given.
  const NameUse* further(const std::string& key) const {
    const auto found = further_.find(key);
    return found == further_.end() ? nullptr : &names_[found->second];
  }

  Location at_;
  std::vector<NameUse> names_;
  std::size_t lengths_ = 0;  // its index in names_; 0 if not given

 private:
  std::map<std::string, std::size_t> further_;
};

// A measure that counts items in gold, in predicted, and in both.
class MatchMeasure : public TagMeasure {
 public:
  using TagMeasure::TagMeasure;
  std::vector<std::pair<std::string, double>> results() const override {
    return {{"", matches_.f1()}, {".precision", matches_.precision()}, {".recall", matches_.recall()}};
  }
  void clear() override { matches_ = {}; }
  nlohmann::json state() const override {
    return {{"gold", matches_.gold}, {"predicted", matches_.predicted}, {"correct", matches_.correct}};
  }
  void restore(const nlohmann::json& state) override {
    matches_.gold = state.at("gold").get<std::int64_t>();
    matches_.predicted = state.at("predicted").get<std::int64_t>();
    matches_.correct = state.at("correct").get<std::int64_t>();
  }

 protected:
  // The label with this number; an invalid number is an error of the graph.
  template <class Labels>
  const auto& label(const Labels& labels, std::int32_t number, std::size_t name) const {
    if (number < 0 || static_cast<std::size_t>(number) >= labels.size()) {
      report_error(names_[name].at,
                   fmt::format("'{}' has the label {}; there are {}", names_[name].name, number, labels.size()));
    }
    return labels[static_cast<std::size_t>(number)];
  }
  Matches matches_;
};

std::unique_ptr<NamedMeasure> make_accuracy(const ir::Expression& e);
std::unique_ptr<NamedMeasure> make_exact_measure(const ir::Expression& e);
std::unique_ptr<NamedMeasure> make_spans(const ir::Expression& e);
std::unique_ptr<NamedMeasure> make_segmentation(const ir::Expression& e);

}  // namespace graphrun
