// Which words generation makes: an input of the graph, found from the scan that is driven.
#pragma once

#include <string>

#include "compiler/generation.h"

namespace graphrun {

// The input that the driven scans' `spec.feed` is, or is made of, by its name. Throws UserError (kInvalidGraph): E0431, E0432.
std::string driven_input(const ir::Graph& graph, const GenerationSpec& spec);

}  // namespace graphrun
