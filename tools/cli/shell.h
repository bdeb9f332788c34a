// Words for a command line that a message suggests.
#pragma once

#include <string>

namespace graphrun {

// The word quoted for a shell: in single quotes if it contains anything but letters, digits and _@%+=:,./-
std::string shell_quoted(const std::string& word);

}  // namespace graphrun
