// Reads word vectors from a file into rows of a parameter.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/tensor/tensor.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

struct VectorFile {
  std::string path;        // one word per line: the word, then its numbers, separated by spaces; may be compressed
  bool lowercase = false;  // an entry without a vector gets that of its lowercase form
};

// The number of entries with a vector, and how many of these by their lowercase form.
struct VectorCoverage {
  std::int64_t found = 0, lowercased = 0;
};

// Writes a word's vector to the row of its number; rows of other entries do not change. `rows` is [entries, width]. The first
// line of a word2vec file, two integers, is skipped. If a word has two vectors, the first counts. A word may contain spaces, as
// some in GloVe do. Throws UserError (kBadData): E0656 bad-vectors with the file's line; what reading lines throws.
VectorCoverage read_word_vectors(const VectorFile& file, const Vocabulary& vocabulary, Tensor& rows);

}  // namespace graphrun
