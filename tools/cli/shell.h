// Words for a command line that a message suggests.
#pragma once

#include <string>

namespace graphrun {

// The word as a shell reads it back: in single quotes where it has more in it than letters, digits and _@%+=:,./-
std::string shell_quoted(const std::string& word);

}  // namespace graphrun
