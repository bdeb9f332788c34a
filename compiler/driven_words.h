// Finds the input of the graph whose words generation produces, from the scan that runs word by word.
#pragma once

#include <string>

#include "compiler/generation.h"

namespace graphrun {

// The name of the input that the sequence `spec.feed` of the driven scans is, or is computed from. Throws UserError
// (kInvalidGraph): E0431, E0432.
std::string driven_input(const ir::Graph& graph, const GenerationSpec& spec);

}  // namespace graphrun
