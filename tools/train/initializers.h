// The initializers of a job, by patterns over the names of parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/program/program.h"
#include "tools/train/recipe.h"

namespace graphrun {

// `*` matches any run of characters, also an empty one; every other character matches itself.
bool matches(std::string_view pattern, std::string_view name);

// The rule for a parameter: the first that matches its name with a pattern other than "*"; otherwise, unless the graph declares
// an initializer, the first "*". Null means the graph's initializer. `vectors`: whether rules for word vectors count.
const InitializeRule* initializer_of(const std::vector<InitializeRule>& rules, const VariableSpec& parameter, bool vectors);

// Gives every parameter the initializer of its rule, except word vectors. Returns a line for each rule, with its parameters. A
// rule that applies to no parameter gives a warning (E0422).
std::vector<std::string> apply_initializers(const std::vector<InitializeRule>& rules, Program& program,
                                            std::vector<Diagnostic>& warnings);

}  // namespace graphrun
