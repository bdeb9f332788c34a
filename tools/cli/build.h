// The version and build of this program, for --version and for the record of a run.
#pragma once

#include <string>

namespace graphrun {

struct Build {
  std::string version;   // "0.1.0"
  std::string compiler;  // "GNU 12.2.0"
  std::string flags;     // "Release: -O2"
  // The build ids that the linker computed from their contents, in hexadecimal; builds of different code have different ones.
  // "none" if the linker was told to omit them.
  std::string program_id, library_id;
};
const Build& this_build();

}  // namespace graphrun
