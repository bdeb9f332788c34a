// Scores of text against references: counts of each segment, summed over a set, and what follows from the sums.
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
  // Of one segment. Their sums over a set are what score() and line() take.
  virtual Counts counts(const std::string& output, std::span<const std::string> references) const = 0;
  // A percentage: from 0 to 100, of errors also more.
  virtual double score(const Counts& sums) const = 0;
  // The same from counts in single precision, as sacreBLEU computes it of segments that it draws again.
  virtual double single_score(const Counts& sums) const = 0;
  virtual std::string name() const = 0;
  // How it was computed: "BLEU|refs:1|case:mixed|tok:13a|smooth:exp". `references`: of a segment.
  virtual std::string signature(std::size_t references) const = 0;
  // The score and the figures it is made of.
  virtual std::string figures(const Counts& sums) const = 0;
};

struct BleuOptions {
  Tokenization tokenization = Tokenization::k13a;
  bool lower_case = false;
  bool smooth = true;  // an order without a match counts as a half, a quarter, … of one; else it makes the whole 0
};

// BLEU of up to four words (Papineni et al. 2002), its counts taken over the set, against the references' closest length.
std::unique_ptr<TextScore> make_bleu(const BleuOptions& options);
// The same of text that is cut at spaces already, without smoothing, in multi-bleu.perl's own words.
std::unique_ptr<TextScore> make_multi_bleu(bool lower_case);

struct ChrfOptions {
  int characters = 6, words = 0;  // orders up to which n-grams count; words = 2 is chrF++
  bool lower_case = false;
};
// F-score of character n-grams, recall counting twice as much (Popović 2015, 2017).
std::unique_ptr<TextScore> make_chrf(const ChrfOptions& options);

enum class EditUnit : std::uint8_t { kCharacters, kWords };
// Edits (replaced, left out, put in) that make the output the reference, over the number of the reference's units; code points,
// a space between words among them, or words. Without any such unit it is 0 where there is no edit, else 100.
std::unique_ptr<TextScore> make_error_rate(EditUnit unit, bool lower_case);
// The share of lines that are a reference, white space beside words apart.
std::unique_ptr<TextScore> make_exact(bool lower_case);

void add_counts(Counts& sums, const Counts& counts);

}  // namespace graphrun
