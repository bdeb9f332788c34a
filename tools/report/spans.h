// Labelled spans out of tags, as conlleval reads them (Tjong Kim Sang and Buchholz 2000; its rules with those for E and S
// written out), and words out of places, as the score program of the SIGHAN bakeoffs counts them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// A tag of IOB1, IOB2, IOE, BIOES or BMES: "B-LOC" is place B, kind LOC; "O" and "." are outside. M is I by another name, L is
// E and U is S.
struct Tag {
  char place = 'O';
  std::string kind;
};
// Nothing where it is no such tag.
std::optional<Tag> parse_tag(std::string_view text);

struct Span {
  std::int64_t begin = 0, end = 0;  // steps [begin, end)
  std::string_view kind;            // of the tags that it was read from
  friend bool operator==(const Span&, const Span&) = default;
  friend auto operator<=>(const Span&, const Span&) = default;
};
// The spans of one sequence, in order.
std::vector<Span> spans_of(const std::vector<const Tag*>& tags);

// A character's place in its word: B, M, E, or S. Words end after E and S and before B and S, so that any sequence of places
// cuts the text into words. The ends of the words.
std::vector<std::int64_t> word_ends(std::string_view places);

// Which gold words are in the other segmentation of the same text too. Without characters: those of equal place. With them, as
// `score` counts: by the longest common subsequence of the words as strings (it runs diff over them), which now and then finds
// one more. Characters of the number `unknown` are equal only at the same place.
std::vector<bool> common_words(const std::vector<std::int64_t>& gold, const std::vector<std::int64_t>& predicted,
                               std::span<const std::int32_t> characters, std::int32_t unknown = -1);

// Counts, and what follows from them; 0 where there is nothing to divide by.
struct Matches {
  std::int64_t gold = 0, predicted = 0, correct = 0;
  double precision() const { return predicted ? static_cast<double>(correct) / static_cast<double>(predicted) : 0; }
  double recall() const { return gold ? static_cast<double>(correct) / static_cast<double>(gold) : 0; }
  double f1() const {
    return gold + predicted ? 2.0 * static_cast<double>(correct) / static_cast<double>(gold + predicted) : 0;
  }
};

}  // namespace graphrun
