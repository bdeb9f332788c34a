// What processes that train together must have in common.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"

namespace graphrun {

// Something of a process, as text.
struct Fact {
  std::string kind;      // "different data", as the message says of a process that has another
  std::string name;      // "'train.en'"
  std::string value;     // "has 103 bytes"
  std::string contents;  // compared where the value is the same: a hash, or anything else
  bool must = true;      // else a difference is a warning, and `name` says what it means
};

// "avx2 avx512f": what this processor has of what kernels choose by.
std::string instruction_sets();

// The cores of this machine that a process may use.
struct SharedCores {
  int sharing = 1;                   // processes of this machine, this one included, that may use just the same cores
  std::vector<Diagnostic> warnings;  // on process 0, of processes that their launcher bound to fewer cores than it has
};
SharedCores shared_cores(Communicator& together);

// Compares the facts of all processes, which list the same ones in the same order. Returns warnings, on process 0. Throws
// UserError on process 0 (kUsage, E0534 unlike-processes), and PeerEnd.
std::vector<Diagnostic> require_same(Communicator& together, const std::vector<Fact>& facts);

}  // namespace graphrun
