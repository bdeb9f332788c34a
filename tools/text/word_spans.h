// Determines the words of a text to which its entries belong; words are separated by spaces.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/text/vocabulary.h"

namespace graphrun {

// Words [begin, end). A piece may be part of several words in some subword models.
struct WordSpan {
  std::size_t begin = 0, end = 0;
  friend bool operator==(const WordSpan&, const WordSpan&) = default;
};

struct WordSpans {
  std::vector<WordSpan> of;        // by entry; an entry of only white space belongs to the next word, or to the last
  std::vector<std::string> words;  // as in the text
};

enum class EntriesAre {
  kCut,   // split from a text, which they make up together
  kMade,  // generated one by one: an entry that is not a subword piece, such as an unknown word, is a word of its own, as in
          // `joined`
};

WordSpans word_spans(const std::vector<std::string>& entries, const TextForm& form, EntriesAre from);

}  // namespace graphrun
