// The measures that compare text written by a mode of the job with the original text of a field.
//
//   bleu(field, mode)          sacreBLEU's BLEU, from 0 to 100; tokenize='13a', 'none', 'char' or 'zh', lowercase=true
//   multi_bleu(field, mode)    multi-bleu.perl's BLEU, for text with spaces between words; lowercase=true
//   chrf(field, mode)          F-score of character n-grams, from 0 to 100; words=2 is chrF++, lowercase=true
//   cer(field, mode)           edits of characters, in percent of the reference's characters; lowercase=true
//   wer(field, mode)           the same for words
//   exact_match(field, mode)   the percentage of lines that are entirely correct; lowercase=true
//
// `bleu(german, translate) by length(english, 10)` has the same for groups of examples too.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/expression.h"
#include "tools/report/grouped.h"
#include "tools/score/text_score.h"

namespace graphrun {

// The group of an example.
struct TextGroup {
  std::int64_t number = 0;
  std::string label;
};

class TextMeasure : public Measure {
 public:
  TextMeasure(NameUse field, NameUse mode, std::unique_ptr<TextScore> score, std::optional<GroupedBy> by);
  const NameUse& field() const { return field_; }
  const NameUse& mode() const { return mode_; }
  const TextScore& score() const { return *score_; }
  // The counts of each segment since the sums were cleared.
  const std::vector<Counts>& segments() const { return each_; }
  const std::optional<GroupedBy>& grouped_by() const { return by_; }
  // `group`: if there is grouped_by().
  void add_text(const std::string& output, const std::string& reference, const TextGroup& group = {});

  const std::vector<NameUse>& names() const override { return no_names_; }  // it reads no tensors
  void add(const BatchValues&) override {}
  std::vector<std::pair<std::string, double>> results() const override;
  std::vector<Table> details() const override;
  void clear() override;
  nlohmann::json state() const override;
  void restore(const nlohmann::json& state) override;

 private:
  NameUse field_, mode_;
  std::vector<NameUse> no_names_;
  std::unique_ptr<TextScore> score_;
  std::optional<GroupedBy> by_;
  struct GroupSums {
    std::string label;
    Counts sums;
    std::int64_t segments = 0;
  };
  std::map<std::int64_t, GroupSums> groups_;
  Counts sums_;
  std::vector<Counts> each_;  // by segment
  std::int64_t segments_ = 0;
};

bool is_text_measure(const ir::Expression& e);
// Throws UserError (kInvalidGraph, E0414) if the arguments are wrong.
std::unique_ptr<TextMeasure> make_text_measure(const ir::Expression& e, const ir::Expression* by = nullptr);
std::vector<std::string> text_measures();

}  // namespace graphrun
