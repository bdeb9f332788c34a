// What this program is: for --version and for the record of a run.
#pragma once

#include <string>

namespace graphrun {

struct Build {
  std::string version;   // "0.1.0"
  std::string compiler;  // "GNU 12.2.0"
  std::string flags;     // "Release: -O2"
  // What the linker made of all that is in them, in hexadecimal: no two builds of different code have the same. "none" where it
  // was told to leave it out.
  std::string program_id, library_id;
};
const Build& this_build();

}  // namespace graphrun
