// Other processes of this machine.
#pragma once

#include <string>

namespace graphrun {

struct ProcessState {
  bool runs = false;  // false for one that has ended but that its parent has not waited for
  std::string start;  // tells it from later processes with the same number; empty: unknown
};
ProcessState state_of_process(long number);

}  // namespace graphrun
