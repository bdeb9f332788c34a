// How a job says that parameters begin, by patterns over their names.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/program.h"
#include "tools/train/recipe.h"

namespace graphrun {

// `*` stands for any run of characters, the empty one too; everything else for itself.
bool matches(std::string_view pattern, std::string_view name);

// The first rule that matches a parameter's name takes the place of what the graph says. A rule that no parameter came to is a
// warning (E0422).
void apply_initializers(const std::vector<InitializeRule>& rules, Program& program, std::vector<Diagnostic>& warnings);

}  // namespace graphrun
