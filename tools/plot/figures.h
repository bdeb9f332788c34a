// Pictures of what models compute: arcs between words, lines and bars of groups, surfaces of expressions, matrices. All are
// SVG.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/report/table.h"

namespace graphrun {

// The words of a sentence, and the weight of each word for each other.
struct WordWeights {
  std::vector<std::string> words;
  std::vector<std::vector<double>> weights;  // square, [word][other]
};
// Words in a row, and from each an arc to the earlier word of the greatest weight (Zhang et al. 2018, Figure 4); the weights of
// later words do not count. One sentence below the other.
std::string draw_arcs(const std::vector<WordWeights>& sentences);
// The same weights as heat maps, a row for each word.
std::string draw_matrices(const std::vector<WordWeights>& sentences);
// Means of groups. If the names of all groups are numbers, lines over them with a band of one deviation, several in one
// picture; otherwise bars with their deviation, for each report.
std::string draw_groups(const std::vector<std::pair<std::string, Table>>& reports);
// A value at each point of a square grid, [y][x], with both axes from `low` to `high`: colors, and lines of equal value.
struct Surface {
  std::string title;
  double low = 0, high = 0;
  std::vector<std::vector<double>> values;
};
std::string draw_surfaces(const std::vector<Surface>& surfaces);

// The expression over x and y at each point of a grid of `points` times `points`. Throws UserError (kInvalidGraph, E0692) for
// a mistake in it.
Surface surface_of(const std::string& expression, double low, double high, int points);

// Reads what `graphrun evaluate --details --json` wrote: the tables of groups. Throws UserError (kBadData, E0693).
std::vector<std::pair<std::string, Table>> parse_groups(const std::string& text, const std::string& path);
// Reads objects with a square matrix under `key`, one object, or one a line. Their words are the entries of "words", "units" or
// "tokens", whichever fits first; there may be none. If the matrix has one more row than the object has words, for the end of
// the sentence, that row is left out. Throws UserError (kBadData, E0693).
std::vector<WordWeights> parse_word_weights(const std::string& text, const std::string& path, const std::string& key);

}  // namespace graphrun
