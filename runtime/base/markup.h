// Text inside of HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace graphrun {

// Escapes what markup gives a meaning, for elements and for attributes in double quotes. Control characters, which SVG does not
// allow, become spaces.
std::string escaped(std::string_view text);

}  // namespace graphrun
