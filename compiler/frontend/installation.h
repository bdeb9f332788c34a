// Where an installation keeps its graphs.
#pragma once

#include <string>

namespace graphrun::frontend {

// The folder graphs that belongs to this library: the installed one, found from where the library itself lies, so that an
// installation may be moved; in a build folder, the source tree's. The path is given even where nothing is there.
std::string installed_graphs();

}  // namespace graphrun::frontend
