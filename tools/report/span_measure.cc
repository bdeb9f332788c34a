#include <iterator>
#include <optional>

#include "tools/report/tag_measure.h"

namespace graphrun {
namespace {

class Spans : public MatchMeasure {
 public:
  explicit Spans(const ir::Expression& e) : MatchMeasure(e, {}) {}
  void bind(const VocabularyOf& vocabulary) override {
    for (const std::string& entry : entries_of(names_[0], vocabulary, kGoldIsAFeed).entries()) {
      std::optional<Tag> tag = parse_tag(entry);
      if (!tag && entry != kUnknown) {
        report_error(at_, fmt::format("the label '{}' of '{}' is not the tag of a span", entry, names_[0].name),
                     "expected O, B-KIND, I-KIND or M-KIND, E-KIND or L-KIND, S-KIND or U-KIND");
      }
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
      for (const Span& span : gold) ++kinds_[std::string(span.kind)].gold;
      for (const Span& span : predicted) ++kinds_[std::string(span.kind)].predicted;
      for (const Span& span : common) ++kinds_[std::string(span.kind)].correct;
      tags_seen_ += steps;
      for (std::size_t i = 0; i < gold_tags.size(); ++i) {
        tags_equal_ += gold_tags[i]->place == predicted_tags[i]->place && gold_tags[i]->kind == predicted_tags[i]->kind;
      }
    });
  }
  // The figures of conlleval: in total and by kind, and the fraction of equal tags.
  std::vector<Table> details() const override {
    Table spans = match_table("spans");
    add_matches(spans, "all", matches_);
    for (const auto& [kind, matches] : kinds_) add_matches(spans, kind.empty() ? "(no kind)" : kind, matches);
    Table tags{"tags", {"all", "equal", "accuracy"}, {}};
    tags.rows.push_back({"tags",
                         {static_cast<double>(tags_seen_), static_cast<double>(tags_equal_),
                          tags_seen_ ? static_cast<double>(tags_equal_) / static_cast<double>(tags_seen_) : 0}});
    return {spans, tags};
  }
  void clear() override {
    MatchMeasure::clear();
    kinds_.clear();
    tags_seen_ = tags_equal_ = 0;
  }
  nlohmann::json state() const override {
    nlohmann::json state = MatchMeasure::state();
    state["kinds"] = nlohmann::json::object();
    for (const auto& [kind, m] : kinds_) state["kinds"][kind] = {m.gold, m.predicted, m.correct};
    state["tags"] = {tags_seen_, tags_equal_};
    return state;
  }
  void restore(const nlohmann::json& state) override {
    MatchMeasure::restore(state);
    kinds_.clear();
    for (const auto& [kind, m] : state.at("kinds").items()) {
      kinds_[kind] = {m.at(0).get<std::int64_t>(), m.at(1).get<std::int64_t>(), m.at(2).get<std::int64_t>()};
    }
    tags_seen_ = state.at("tags").at(0).get<std::int64_t>();
    tags_equal_ = state.at("tags").at(1).get<std::int64_t>();
  }

 private:
  std::vector<const Tag*> tags_of(const Tensor& tensor, std::int64_t row, std::int64_t steps, std::size_t name) const {
    std::vector<const Tag*> tags;
    for (const std::int32_t number : row_of(tensor, row, steps)) tags.push_back(&label(tags_, number, name));
    return tags;
  }
  std::vector<Tag> tags_;
  std::map<std::string, Matches> kinds_;
  std::int64_t tags_seen_ = 0, tags_equal_ = 0;
};

}  // namespace

std::unique_ptr<NamedMeasure> make_spans(const ir::Expression& e) { return std::make_unique<Spans>(e); }

}  // namespace graphrun
