// A lexical table: which words of the target each word of the source may become. Text, a line for each pair,
// "target source number" (Marian's and Moses' lex files), compressed or not; the greater the number, the better the pair.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/status.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

class Lexicon {
 public:
  // Keeps the `best` target words of each source word; of equal numbers the words that come first in the vocabulary. Lines with
  // NULL (no word, unless a vocabulary has such an entry) are passed over, and so are those with entries that a vocabulary
  // lacks, about which `warn` is told once. Throws UserError (kBadData): LineReader's; E0671 bad-lexicon at a line without
  // three columns, or whose last is not a number, or if no line is left.
  static Lexicon read(const std::string& path, const Vocabulary& source, const Vocabulary& target, std::int64_t best,
                      const std::function<void(const Diagnostic&)>& warn);

  // The target words of a source word, best first.
  std::span<const std::int32_t> of(std::int32_t source) const;

 private:
  std::vector<std::int32_t> words_;
  std::vector<std::size_t> begin_;  // by source word, and the end
};

// Counts of pairs, and the table of them.
class LexicalCounts {
 public:
  // Weights are rounded to multiples of this, so that sums do not depend on their order.
  static constexpr double kUnit = 1.0 / 4096;

  void add(std::int32_t source, std::int32_t target, double weight);
  void add(const LexicalCounts& other);
  // The table: by source word in the order of its vocabulary, the `best` target words with their shares of its count, the
  // greatest first. A pair with an entry that holds white space is left out: no table can have it.
  std::string text(const Vocabulary& source, const Vocabulary& target, std::int64_t best) const;
  std::int64_t pairs() const { return static_cast<std::int64_t>(counts_.size()); }

 private:
  std::unordered_map<std::uint64_t, std::int64_t> counts_;  // by source · 2³² + target
};

}  // namespace graphrun
