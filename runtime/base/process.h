// Other programs and processes of this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// A program that was started and has ended.
struct EndedProgram {
  int error = 0;               // errno if it could not be started
  int code = 0;                // its exit code; 128 + N if signal N ended it
  std::string output, errors;  // what it wrote to its standard output and its standard error
};
// Starts a program, which is found by PATH, with `input` as its standard input, and waits until it ends. `words`: its name and
// arguments. No shell reads them.
EndedProgram run_program(const std::vector<std::string>& words, std::string_view input = {});

struct ProcessState {
  bool runs = false;  // false for one that has ended but that its parent has not waited for
  std::string start;  // tells it from later processes with the same number; empty: unknown
};
ProcessState state_of_process(long number);

}  // namespace graphrun
