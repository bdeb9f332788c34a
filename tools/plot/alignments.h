// Pictures of alignments: a row for each word, a column for each unit of the input; greater weights are darker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace graphrun {

struct AlignedSentence {
  std::int64_t line = 0;                     // line of the file, from 1
  std::vector<std::string> units, words;     // units of the input, generated words
  std::vector<std::vector<double>> weights;  // by word, then by unit
};

// Parses the output of `graphrun infer --json`; `path` names it in messages. Empty lines are skipped. Throws UserError
// (kBadData, E0691) at a line that is no such object, or that has no alignment.
std::vector<AlignedSentence> parse_alignments(const std::string& text, const std::string& path);

// Draws all sentences, one below the other, as SVG.
std::string draw_alignments(const std::vector<AlignedSentence>& sentences);

}  // namespace graphrun
