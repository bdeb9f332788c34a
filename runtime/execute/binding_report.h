// Reports what only binding can determine about a program at given sizes: how its loops run, with which threads or launches,
// and why not in a faster way; and the memory that its kernels need.
#pragma once

#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/program/arena.h"
#include "runtime/program/bound.h"
#include "runtime/program/program.h"

namespace graphrun {

// One line for each scan, followed by those in its body. Every symbol must have a size. Throws whatever bind throws.
std::string describe_loops(const Program& program, const SymbolValues& sizes, Target target);

// How a bound scan of a binding of the program runs: "read: 30 steps of 2 kernels, by 2 threads, …".
std::string describe_loop(const Program& program, const ProgramLayout& layout, const BoundInstruction& loop);

// A loop that is not one kernel for all steps: it runs kernel by kernel, for the reason `why`, which `at` causes. `at` is
// unknown if nothing in particular does.
struct LoopObstacle {
  std::string loop, why;
  Location at;
};
// All such loops of the program, including those inside other loops. Throws as describe_loops does.
std::vector<LoopObstacle> loop_obstacles(const Program& program, const SymbolValues& sizes, Target target);

// The arena with what kernels work in, and what they keep outside of it from run to run; on the CPU by threads() threads.
// Throws as describe_loops does.
std::string describe_bound_memory(const Program& program, const SymbolValues& sizes, Target target = {});

}  // namespace graphrun
