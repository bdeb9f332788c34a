#include "tools/report/text_measure.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphrun {
namespace {

using Kind = ir::Expression::Kind;

// The settings that follow the two names.
class MeasureSettings {
 public:
  explicit MeasureSettings(const ir::Expression& e) : e_(e) {}

  bool flag(const std::string& name) {
    const ir::Expression* value = find(name);
    if (value != nullptr && value->kind != Kind::kBool) report_error(value->at, fmt::format("{} is true or false", name));
    return value != nullptr && value->number != 0;
  }
  int number(const std::string& name, int most) {
    const ir::Expression* value = find(name);
    if (value == nullptr) return 0;
    if (value->kind != Kind::kNumber || !value->integral || value->number < 0 || value->number > most) {
      report_error(value->at, fmt::format("{} is a number from 0 to {}", name, most));
    }
    return static_cast<int>(value->number);
  }
  Tokenization tokenization() {
    const ir::Expression* value = find("tokenize");
    if (value == nullptr) return Tokenization::k13a;
    const auto found = value->kind == Kind::kWord ? parse_tokenization(value->text) : std::nullopt;
    if (!found) report_error(value->at, "no such tokenization", "tokenize='13a', 'none', 'char' or 'zh'");
    return *found;
  }
  // Throws for settings that were not used.
  void finish() const {
    for (const auto& [name, value, name_at] : e_.keywords) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        report_error(value.at, fmt::format("{} has no '{}'", e_.text, name), did_you_mean(name, known_));
      }
    }
  }

 private:
  const ir::Expression* find(const std::string& name) {
    known_.push_back(name);
    for (const auto& [key, value, key_at] : e_.keywords) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  const ir::Expression& e_;
  std::vector<std::string> known_;
};

std::unique_ptr<TextScore> make_score(const ir::Expression& e) {
  MeasureSettings settings(e);
  std::unique_ptr<TextScore> score;
  if (e.text == "bleu") {
    const Tokenization tokenization = settings.tokenization();
    score = make_bleu({tokenization, settings.flag("lowercase"), true});
  } else if (e.text == "multi_bleu") {
    score = make_multi_bleu(settings.flag("lowercase"));
  } else if (e.text == "cer" || e.text == "wer") {
    score = make_error_rate(e.text == "cer" ? EditUnit::kCharacters : EditUnit::kWords, settings.flag("lowercase"));
  } else if (e.text == "exact_match") {
    score = make_exact(settings.flag("lowercase"));
  } else {
    constexpr int kMostWords = 4;
    const int words = settings.number("words", kMostWords);
    score = make_chrf({ChrfOptions().characters, words, settings.flag("lowercase")});
  }
  settings.finish();
  return score;
}

}  // namespace

std::vector<std::string> text_measures() { return {"bleu", "cer", "chrf", "exact_match", "multi_bleu", "wer"}; }

bool is_text_measure(const ir::Expression& e) {
  const auto names = text_measures();
  return e.kind == Kind::kCall && std::find(names.begin(), names.end(), e.text) != names.end();
}

std::unique_ptr<TextMeasure> make_text_measure(const ir::Expression& e, const ir::Expression* by) {
  const bool names = std::all_of(e.operands.begin(), e.operands.end(), [](const auto& o) { return o.kind == Kind::kName; });
  if (e.operands.size() != 2 || !names) {
    report_error(e.at, fmt::format("{0} takes a field and an infer block: {0}(english, translate)", e.text));
  }
  const auto use = [&](std::size_t i) { return NameUse{e.operands[i].dotted(), e.operands[i].at}; };
  std::optional<GroupedBy> grouped;
  if (by != nullptr) {
    grouped = parse_grouped_by(*by);
    if (!grouped->of) {
      report_error(by->at, "a line of text has no positions",
                   "by length(FIELD, 10) is by ranges of a field's length, by FIELD by its entry");
    }
  }
  return std::make_unique<TextMeasure>(use(0), use(1), make_score(e), std::move(grouped));
}

TextMeasure::TextMeasure(NameUse field, NameUse mode, std::unique_ptr<TextScore> score, std::optional<GroupedBy> by)
    : field_(std::move(field)), mode_(std::move(mode)), score_(std::move(score)), by_(std::move(by)) {}

void TextMeasure::add_text(const std::string& output, const std::string& reference, const TextGroup& group) {
  each_.push_back(score_->counts(output, std::span(&reference, 1)));
  add_counts(sums_, each_.back());
  ++segments_;
  if (!by_) return;
  GroupSums& of_group = groups_[group.number];
  of_group.label = group.label;
  add_counts(of_group.sums, each_.back());
  ++of_group.segments;
}

std::vector<std::pair<std::string, double>> TextMeasure::results() const {
  return {{"", sums_.empty() ? 0 : score_->score(sums_)}};
}

std::vector<Table> TextMeasure::details() const {
  if (sums_.empty()) return {};
  std::vector<Table> tables = {{score_->signature(1),
                                {"value"},
                                {{score_->name(), {score_->score(sums_)}}, {"segments", {static_cast<double>(segments_)}}}}};
  if (!by_) return tables;
  Table groups{"by " + by_->text, {"count", score_->name()}, {}};
  for (const auto& [number, group] : groups_) {
    groups.rows.emplace_back(group.label, std::vector<double>{static_cast<double>(group.segments), score_->score(group.sums)});
  }
  tables.push_back(std::move(groups));
  return tables;
}

void TextMeasure::clear() {
  sums_.clear();
  each_.clear();
  groups_.clear();
  segments_ = 0;
}

nlohmann::json TextMeasure::state() const {
  nlohmann::json groups = nlohmann::json::array();
  for (const auto& [number, group] : groups_) {
    groups.push_back({{"group", number}, {"label", group.label}, {"sums", group.sums}, {"segments", group.segments}});
  }
  return {{"sums", sums_}, {"segments", segments_}, {"groups", groups}};
}

void TextMeasure::restore(const nlohmann::json& state) {
  sums_ = state.at("sums").get<Counts>();
  segments_ = state.at("segments").get<std::int64_t>();
  groups_.clear();
  for (const nlohmann::json& group : state.at("groups")) {
    groups_[group.at("group").get<std::int64_t>()] = {group.at("label").get<std::string>(), group.at("sums").get<Counts>(),
                                                      group.at("segments").get<std::int64_t>()};
  }
}

}  // namespace graphrun
