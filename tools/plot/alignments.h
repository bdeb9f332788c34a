// How words look at the input, as pictures: a row for each word, a column for each unit of the input, darker where the weight
// is greater.
#pragma once

#include <string>
#include <vector>

namespace graphrun {

struct AlignedSentence {
  std::int64_t line = 0;                     // of the file, from 1
  std::vector<std::string> units, words;     // of the input, made of it
  std::vector<std::vector<double>> weights;  // of each word, one for each unit
};

// Of what `graphrun infer --json` wrote; `path` names it. Lines of nothing are passed over. Throws UserError (kBadData, E0691)
// at a line that is no such object, or whose model aligns nothing.
std::vector<AlignedSentence> parse_alignments(const std::string& text, const std::string& path);

// All sentences, one below the other, as SVG.
std::string draw_alignments(const std::vector<AlignedSentence>& sentences);

}  // namespace graphrun
