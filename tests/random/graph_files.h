// Graphs in files, of the user or kept because they once failed.
#pragma once

#include <string>

#include "tests/random/generator.h"

namespace graphrun::random_graphs {

// The graph of the file. A line "# generate: SCAN FEED SCORE" says where it is cut for generation; the words are its input
// "ids".
Generated read_graph(const std::string& path);

}  // namespace graphrun::random_graphs
