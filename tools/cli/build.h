// What this program is: for --version and for the record of a run.
#pragma once

#include <string>

namespace graphrun {

struct Build {
  std::string version;   // "0.1.0"
  std::string compiler;  // "GNU 12.2.0"
  std::string flags;     // "Release: -O2"
};
const Build& this_build();

}  // namespace graphrun
