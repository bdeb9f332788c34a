// Graphs for the tests of the compiler: small ones by hand, and random ones.
#pragma once

#include <random>

#include "compiler/ir/graph.h"

namespace graphrun::test {

// A language model in small: embedding, one scan with a state and an invariant, logits, loss, a next value for a parameter.
ir::Graph recurrent_graph();

// Random nodes of many kinds over a few inputs and variables, scans within scans, names, strings and floats of every look,
// locations with and without a way there. Holds all invariants.
ir::Graph random_graph(std::mt19937& random, int nodes);

// The files of a folder in the sources whose names end in `suffix`, sorted.
std::vector<std::string> files_in(const std::string& folder, const std::string& suffix);
std::string file_text(const std::string& path);

}  // namespace graphrun::test
