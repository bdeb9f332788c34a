#include "tools/report/named_measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "tools/report/spans.h"

namespace graphrun {
namespace {

using Kind = ir::Expression::Kind;

// gold, predicted and lengths, the same for all.
class TagMeasure : public NamedMeasure {
 public:
  TagMeasure(const ir::Expression& e, std::initializer_list<std::string_view> further) : at_(e.at) {
    const bool names = std::all_of(e.operands.begin(), e.operands.end(), [](const auto& o) { return o.kind == Kind::kName; });
    if (e.operands.size() != 2 || !names)
      report_error(e.at, fmt::format("{0} takes two names: {0}(gold, predicted, lengths=lengths)", e.text));
    for (const ir::Expression& operand : e.operands) names_.push_back({operand.dotted(), operand.at});
    for (const auto& [key, value] : e.keywords) {
      const bool known = key == "lengths" || std::find(further.begin(), further.end(), key) != further.end();
      if (!known || value.kind != Kind::kName)
        report_error(value.at, fmt::format("{} has no '{}'; expected lengths=NAME", e.text, key));
      (key == "lengths" ? lengths_ : further_) = names_.size();
      names_.push_back({value.dotted(), value.at});
    }
  }
  const std::vector<NameUse>& names() const override { return names_; }

 protected:
  struct Pair {
    const Tensor* gold;
    const Tensor* predicted;
    const Tensor* lengths;  // null: none
    const Tensor* further;  // null: none
  };
  Pair pair_of(const BatchValues& values) const {
    const auto optional = [&](std::size_t i) { return i ? &values.at(names_[i].name) : nullptr; };
    const Pair pair{&values.at(names_[0].name), &values.at(names_[1].name), optional(lengths_), optional(further_)};
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
      if (values.at(names_[i].name).dtype() != DType::kInt32)
        report_error(names_[i].at, fmt::format("'{}' is {}; expected numbers of labels, INT32", names_[i].name,
                                               name_of(values.at(names_[i].name).dtype())));
    if (pair.gold->sizes() != pair.predicted->sizes())
      report_error(names_[1].at, fmt::format("'{}' {} against '{}' {}; expected equal sizes", names_[1].name,
                                             str(pair.predicted->sizes()), names_[0].name, str(pair.gold->sizes())));
    return pair;
  }

  // Each row's labels, padding left out: [time, batch] to batch sequences.
  static std::vector<std::int32_t> row_of(const Tensor& tensor, std::int64_t row, std::int64_t steps) {
    std::vector<std::int32_t> labels(static_cast<std::size_t>(steps));
    const std::int64_t batch = tensor.sizes()[1];
    for (std::int64_t t = 0; t < steps; ++t) labels[static_cast<std::size_t>(t)] = tensor.data<std::int32_t>()[t * batch + row];
    return labels;
  }
  void each_row(const Pair& pair, const std::function<void(std::int64_t row, std::int64_t steps)>& visit) const {
    const Sizes& sizes = pair.gold->sizes();
    if (sizes.size() != 2)
      report_error(names_[0].at, fmt::format("'{}' is {}; expected [time, batch]", names_[0].name, str(sizes)));
    const Mask fits(sizes, pair.lengths, names_[lengths_]);
    for (std::int64_t row = 0; row < sizes[1]; ++row) {
      const std::int64_t steps = pair.lengths ? pair.lengths->data<std::int32_t>()[row] : sizes[0];
      visit(row, std::clamp<std::int64_t>(steps, 0, sizes[0]));
    }
  }

  Location at_;
  std::vector<NameUse> names_;
  std::size_t lengths_ = 0, further_ = 0;  // places in names_; 0: not given
};

class Accuracy : public TagMeasure {
 public:
  explicit Accuracy(const ir::Expression& e) : TagMeasure(e, {}) {}
  void add(const BatchValues& values) override {
    const Pair pair = pair_of(values);
    const Mask mask(pair.gold->sizes(), pair.lengths, names_[lengths_]);
    const auto gold = pair.gold->span<std::int32_t>(), predicted = pair.predicted->span<std::int32_t>();
    for (std::size_t i = 0; i < gold.size(); ++i) {
      if (!mask[static_cast<std::int64_t>(i)]) continue;
      ++all_;
      correct_ += gold[i] == predicted[i];
    }
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

class MatchMeasure : public TagMeasure {
 public:
  using TagMeasure::TagMeasure;
  std::string labels() const override { return names_[0].name; }
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
  // The label's number as a place in `labels`; a number that is none is an error of the graph.
  template <class Labels>
  const auto& label(const Labels& labels, std::int32_t number, std::size_t name) const {
    if (number < 0 || static_cast<std::size_t>(number) >= labels.size())
      report_error(names_[name].at,
                   fmt::format("'{}' has the label {}; there are {}", names_[name].name, number, labels.size()));
    return labels[static_cast<std::size_t>(number)];
  }
  Matches matches_;
};

class Spans : public MatchMeasure {
 public:
  explicit Spans(const ir::Expression& e) : MatchMeasure(e, {}) {}
  void bind(const Vocabulary& vocabulary) override {
    for (const std::string& entry : vocabulary.entries()) {
      std::optional<Tag> tag = parse_tag(entry);
      if (!tag && entry != kUnknown)
        report_error(at_, fmt::format("the label '{}' of '{}' is no span's tag", entry, names_[0].name),
                     "expected O, B-KIND, I-KIND, E-KIND or S-KIND");
      tags_.push_back(tag.value_or(Tag{}));
    }
  }
  void add(const BatchValues& values) override {
    const Pair pair = pair_of(values);
    each_row(pair, [&](std::int64_t row, std::int64_t steps) {
      const auto gold_tags = tags_of(*pair.gold, row, steps, 0), predicted_tags = tags_of(*pair.predicted, row, steps, 1);
      const std::vector<Span> gold = spans_of(gold_tags), predicted = spans_of(predicted_tags);
      std::vector<Span> common;
      std::set_intersection(gold.begin(), gold.end(), predicted.begin(), predicted.end(), std::back_inserter(common));
      matches_.gold += static_cast<std::int64_t>(gold.size());
      matches_.predicted += static_cast<std::int64_t>(predicted.size());
      matches_.correct += static_cast<std::int64_t>(common.size());
    });
  }

 private:
  std::vector<const Tag*> tags_of(const Tensor& tensor, std::int64_t row, std::int64_t steps, std::size_t name) const {
    std::vector<const Tag*> tags;
    for (const std::int32_t number : row_of(tensor, row, steps)) tags.push_back(&label(tags_, number, name));
    return tags;
  }
  std::vector<Tag> tags_;
};

class Segmentation : public MatchMeasure {
 public:
  explicit Segmentation(const ir::Expression& e) : MatchMeasure(e, {"characters"}) {}
  void bind(const Vocabulary& vocabulary) override {
    for (const std::string& entry : vocabulary.entries()) {
      const bool place = entry.size() == 1 && std::string_view("BMES").find(entry) != std::string_view::npos;
      if (!place && entry != kUnknown)
        report_error(at_, fmt::format("the label '{}' of '{}' is no place in a word", entry, names_[0].name),
                     "expected B, M, E and S");
      places_.push_back(place ? entry[0] : 'S');
    }
  }
  void add(const BatchValues& values) override {
    const Pair pair = pair_of(values);
    if (pair.further && (pair.further->sizes() != pair.gold->sizes() || pair.further->dtype() != DType::kInt32))
      report_error(names_[further_].at, fmt::format("characters {} beside tags {}; expected equal sizes",
                                                    str(pair.further->sizes()), str(pair.gold->sizes())));
    each_row(pair, [&](std::int64_t row, std::int64_t steps) {
      const auto gold = word_ends(places_of(*pair.gold, row, steps, 0));
      const auto predicted = word_ends(places_of(*pair.predicted, row, steps, 1));
      const auto characters = pair.further ? row_of(*pair.further, row, steps) : std::vector<std::int32_t>();
      matches_.gold += static_cast<std::int64_t>(gold.size());
      matches_.predicted += static_cast<std::int64_t>(predicted.size());
      matches_.correct += common_words(gold, predicted, characters);
    });
  }

 private:
  std::string places_of(const Tensor& tensor, std::int64_t row, std::int64_t steps, std::size_t name) const {
    std::string places;
    for (const std::int32_t number : row_of(tensor, row, steps)) places.push_back(label(places_, number, name));
    return places;
  }
  std::vector<char> places_;
};

}  // namespace

std::vector<std::string> named_measures() { return {"accuracy", "segmentation", "spans"}; }

bool is_named_measure(const ir::Expression& e) {
  const auto names = named_measures();
  return e.kind == Kind::kCall && std::find(names.begin(), names.end(), e.text) != names.end();
}

std::unique_ptr<NamedMeasure> make_named_measure(const ir::Expression& e) {
  if (e.text == "accuracy") return std::make_unique<Accuracy>(e);
  if (e.text == "spans") return std::make_unique<Spans>(e);
  GRAPHRUN_CHECK(e.text == "segmentation", "make_named_measure: " + e.text);
  return std::make_unique<Segmentation>(e);
}

}  // namespace graphrun
