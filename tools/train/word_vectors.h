// Word vectors of a file as rows of a parameter.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/tensor/tensor.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

struct VectorFile {
  std::string path;        // a line a word: the word, then its numbers, between spaces; .gz is read directly
  bool lowercase = false;  // an entry without a vector takes that of its lower-cased form
};

// Entries of the vocabulary with a vector, and how many of them by their lower-cased form.
struct VectorCoverage {
  std::int64_t found = 0, lowercased = 0;
};

// Writes a word's vector over the row of its number; rows of other entries stay as they are. A word2vec file's first line, two
// whole numbers, is passed over; of two vectors of a word the first counts; a word may hold spaces, as some of GloVe's do.
// Throws UserError (kBadData): E0656 bad-vectors at the file's line, what reading lines throws. `rows` is [entries, width].
VectorCoverage read_word_vectors(const VectorFile& file, const Vocabulary& vocabulary, Tensor& rows);

}  // namespace graphrun
