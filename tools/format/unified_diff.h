// The difference of two texts in the unified format, which patch and git apply read.
#pragma once

#include <string>
#include <string_view>

namespace graphrun {

// The hunks that turn `before` into `after`, each with three lines around it, under the headers "--- NAME" and "+++ NAME";
// empty if the texts are equal.
std::string unified_diff(std::string_view before, std::string_view after, const std::string& name);

}  // namespace graphrun
