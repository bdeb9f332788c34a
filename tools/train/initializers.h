// How a job says that parameters begin, by patterns over their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/program/program.h"
#include "tools/train/recipe.h"

namespace graphrun {

// `*` stands for any run of characters, the empty one too; everything else for itself.
bool matches(std::string_view pattern, std::string_view name);

// The rule that says how a parameter begins: the first that matches its name with another pattern than "*"; else, unless the
// graph declares how, the first "*". Null: the graph does. `vectors`: whether rules of word vectors count.
const InitializeRule* initializer_of(const std::vector<InitializeRule>& rules, const VariableSpec& parameter, bool vectors);

// Gives every parameter the initializer of its rule, word vectors left out. Returns a line for each rule, with its parameters.
// A rule that applies to no parameter is a warning (E0422).
std::vector<std::string> apply_initializers(const std::vector<InitializeRule>& rules, Program& program,
                                            std::vector<Diagnostic>& warnings);

}  // namespace graphrun
