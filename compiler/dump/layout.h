// Graphviz, which places boxes and draws arrows.
#pragma once

#include <string>

namespace graphrun {

// Lays out graphs in Graphviz's language, one after the other: "svg" returns drawings, "plain" coordinates. Throws UserError:
// kRunFailed, E0510 cannot-draw if Graphviz fails; E0514 no-graphviz if it is not there.
std::string lay_out(const std::string& dot, const std::string& format);

}  // namespace graphrun
