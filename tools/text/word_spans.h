// Which words of a text its entries are part of: words are what spaces part.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/text/vocabulary.h"

namespace graphrun {

// Words [begin, end). A piece may be part of several, where a model of subwords has such.
struct WordSpan {
  std::size_t begin = 0, end = 0;
  friend bool operator==(const WordSpan&, const WordSpan&) = default;
};

struct WordSpans {
  std::vector<WordSpan> of;        // by entry; one that is nothing but space belongs to the word behind it, or to the last
  std::vector<std::string> words;  // as they stand in the text
};

enum class EntriesAre {
  kCut,   // from a text: together they are that text
  kMade,  // one by one: what is no piece of a model's subwords, an unknown word say, is a word of its own, as in `joined`
};

WordSpans word_spans(const std::vector<std::string>& entries, const TextForm& form, EntriesAre from);

}  // namespace graphrun
