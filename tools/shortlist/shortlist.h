// The words that the rows of a batch can need: of each, the best translations of its own words, and words that any may need.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/tensor/tensor.h"
#include "tools/shortlist/lexicon.h"

namespace graphrun {

class BatchShortlist {
 public:
  // `always`: the words that every row may use. `vocabulary`: the number of words in all. `least`: the minimum length of a
  // list, if there are that many words.
  BatchShortlist(Lexicon lexicon, std::vector<std::int32_t> always, std::int64_t vocabulary, std::int64_t least);

  struct Selected {
    Tensor words;    // INT32 [count], ascending
    Tensor allowed;  // BOOL [rows, count]
  };
  // `sources`: the words of each row; `more`: by row, or empty, other words that it may use. What a row may use does not depend
  // on the other rows. A list is padded with words that no row may use, so that few different lengths occur.
  Selected select(const std::vector<std::vector<std::int32_t>>& sources,
                  const std::vector<std::vector<std::int32_t>>& more) const;

 private:
  const Lexicon lexicon_;
  const std::vector<std::int32_t> always_;
  const std::int64_t vocabulary_, least_;
};

}  // namespace graphrun
