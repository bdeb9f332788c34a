// Finds the graphs of an installation.
#pragma once

#include <string>

namespace graphrun::frontend {

// The graphs folder that belongs to this library: the installed one, found relative to the library, so that an installation may
// be moved; in a build folder, the one in the source tree. Returns the path even if nothing exists there.
std::string installed_graphs();

// The folder of the projects that `graphrun new` copies.
std::string installed_projects();

}  // namespace graphrun::frontend
