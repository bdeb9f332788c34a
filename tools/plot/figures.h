// Pictures of what models compute: arcs between words, lines and bars of groups, surfaces of expressions, matrices. All are
// SVG.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/report/table.h"

namespace graphrun {

// Words in a row, and from each an arc to the earlier word of the greatest weight (Zhang et al. 2018, Figure 4). `weights`: by
// word, then by word; those of later words do not count.
std::string draw_arcs(const std::vector<std::string>& words, const std::vector<std::vector<double>>& weights);
// The same weights as a heat map, a row for each word.
std::string draw_matrix(const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                        const std::vector<std::vector<double>>& weights);
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
// Reads an object with a square matrix under `key`, which may lack "words". Throws UserError (kBadData, E0693).
struct WordWeights {
  std::vector<std::string> words;
  std::vector<std::vector<double>> weights;
};
WordWeights parse_word_weights(const std::string& text, const std::string& path, const std::string& key);

}  // namespace graphrun
