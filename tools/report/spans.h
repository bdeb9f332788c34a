// Labeled spans from tags, as conlleval reads them (Tjong Kim Sang and Buchholz 2000, extended to E and S), and words from the
// positions of characters, as the score program of the SIGHAN bakeoffs counts them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// A tag of IOB1, IOB2, IOE, BIOES or BMES: "B-LOC" has place B and kind LOC; "O" and "." are outside. M means I, L means E, and
// U means S.
struct Tag {
  char place = 'O';
  std::string kind;
};
// nullopt if it is not such a tag.
std::optional<Tag> parse_tag(std::string_view text);

struct Span {
  std::int64_t begin = 0, end = 0;  // steps [begin, end)
  std::string_view kind;            // refers to the tags that it was read from
  friend bool operator==(const Span&, const Span&) = default;
  friend auto operator<=>(const Span&, const Span&) = default;
};
// The spans of one sequence, in order.
std::vector<Span> spans_of(const std::vector<const Tag*>& tags);

// The ends of words, from the characters' places in their words: B, M, E or S. Words end after E and S, and before B and S, so
// any sequence of places splits the text into words.
std::vector<std::int64_t> word_ends(std::string_view places);

// By gold word: whether it is also in the other segmentation of the same text. Without characters, words at the same place are
// common. With characters, words are compared as `score` does, by a longest common subsequence of their strings (it runs diff),
// which occasionally finds one more. Characters with the number `unknown` are equal only at the same place.
std::vector<bool> common_words(const std::vector<std::int64_t>& gold, const std::vector<std::int64_t>& predicted,
                               std::span<const std::int32_t> characters, std::int32_t unknown = -1);

// Counts, and precision, recall and F1; 0 if the divisor is 0.
struct Matches {
  std::int64_t gold = 0, predicted = 0, correct = 0;
  double precision() const { return predicted ? static_cast<double>(correct) / static_cast<double>(predicted) : 0; }
  double recall() const { return gold ? static_cast<double>(correct) / static_cast<double>(gold) : 0; }
  double f1() const {
    return gold + predicted ? 2.0 * static_cast<double>(correct) / static_cast<double>(gold + predicted) : 0;
  }
};

}  // namespace graphrun
