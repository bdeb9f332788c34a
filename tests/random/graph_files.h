// Graphs in files: a user's, or those kept because they once failed.
#pragma once

#include <string>

#include "tests/random/generator.h"

namespace graphrun::random_graphs {

// Reads the graph of a file. A line "# generate: SCAN FEED SCORE" says where to cut it for generation; the words are its input
// "ids".
Generated read_graph(const std::string& path);

}  // namespace graphrun::random_graphs
