// Scores of text against references: the counts of each segment are summed over a set, and the score follows from the sums.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/score/tokenize.h"

namespace graphrun {

using Counts = std::vector<std::int64_t>;

class TextScore {
 public:
  virtual ~TextScore() = default;
  // The counts of one segment. score() and line() take their sums over a set.
  virtual Counts counts(const std::string& output, std::span<const std::string> references) const = 0;
  // A percentage from 0 to 100; error rates may be higher.
  virtual double score(const Counts& sums) const = 0;
  // The same in single precision, as sacreBLEU computes it for resampled segments.
  virtual double single_score(const Counts& sums) const = 0;
  virtual std::string name() const = 0;
  // How it was computed: "BLEU|refs:1|case:mixed|tok:13a|smooth:exp". `references`: per segment.
  virtual std::string signature(std::size_t references) const = 0;
  // The score and the figures from which it is computed.
  virtual std::string figures(const Counts& sums) const = 0;
};

struct BleuOptions {
  Tokenization tokenization = Tokenization::k13a;
  bool lower_case = false;
  bool smooth = true;  // an order without a match counts as a half, a quarter, … of a match; otherwise the score is 0
};

// BLEU with n-grams of up to four words (Papineni et al. 2002), from counts over the set and the closest reference length.
std::unique_ptr<TextScore> make_bleu(const BleuOptions& options);
// BLEU of tokenized text without smoothing, printed like multi-bleu.perl.
std::unique_ptr<TextScore> make_multi_bleu(bool lower_case);

struct ChrfOptions {
  int characters = 6, words = 0;  // highest orders of n-grams; words = 2 is chrF++
  bool lower_case = false;
};
// F-score of character n-grams, with twice the weight on recall (Popović 2015, 2017).
std::unique_ptr<TextScore> make_chrf(const ChrfOptions& options);

enum class EditUnit : std::uint8_t { kCharacters, kWords };
// Edits (replacements, deletions, insertions) that turn the output into the reference, divided by the number of the reference's
// units: code points, including one space between words, or words. If the reference has no units, 0 without edits, otherwise
// 100.
std::unique_ptr<TextScore> make_error_rate(EditUnit unit, bool lower_case);
// The fraction of lines that equal a reference, ignoring extra white space.
std::unique_ptr<TextScore> make_exact(bool lower_case);

void add_counts(Counts& sums, const Counts& counts);

}  // namespace graphrun
