// Checks what must be equal in all processes of a run.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"

namespace graphrun {

// A property of a process, as text.
struct Fact {
  std::string kind;      // for the message about a process in which it differs: "different data"
  std::string name;      // "'train.en'"
  std::string value;     // "has 103 bytes"
  std::string contents;  // compared if the value is equal: a hash, for example
  bool must = true;      // whether a difference is an error, otherwise a warning
};

// The instruction sets of this processor by which kernels are chosen: "avx2 avx512f".
std::string instruction_sets();

// The cores of this machine that a process may use.
struct SharedCores {
  int sharing = 1;  // number of processes on this machine, including this one, that may use exactly the same cores
  int place = 0;    // the number of this process among them, from 0
  std::vector<Diagnostic> warnings;  // in process 0: E0536, if a launcher bound processes to too few cores
};
// Throws PeerEnd.
SharedCores shared_cores(Communicator& together);
// Gives each of the processes that may use the same cores its own part of them, so that the system does not put threads of two
// processes on one core while others are unused. Call it before OpenMP starts threads. Changes nothing if the parts would have
// fewer than `threads` cores.
void divide_cores(const SharedCores& shared, int threads);

// Compares the facts of all processes, which must list the same ones in the same order. Returns warnings, in process 0. Throws
// UserError in process 0 (kUsage, E0534 unlike-processes), and PeerEnd.
std::vector<Diagnostic> require_same(Communicator& together, const std::vector<Fact>& facts);

}  // namespace graphrun
