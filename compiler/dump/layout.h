// Graphviz, which places boxes and draws arrows.
#pragma once

#include <string>

namespace graphrun {

// Lays out a graph in Graphviz's language: "svg" returns a drawing, "plain" coordinates. Throws UserError: kRunFailed, E0510
// cannot-draw if Graphviz fails; E0514 no-graphviz if its module fails to load.
std::string lay_out(const std::string& dot, const char* format);

}  // namespace graphrun
