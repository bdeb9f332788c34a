// Formats suggestions of similar names for error messages.
#pragma once

#include <string>
#include <vector>

namespace graphrun {

// "did you mean 'a', 'b' or 'c'?" for the first `most` names; "" if there are none.
std::string suggestion(const std::vector<std::string>& names, std::size_t most = 3);

// The names that such a text contains.
std::vector<std::string> suggested_names(const std::string& text);

}  // namespace graphrun
