// How a program runs at given sizes, as only binding it tells: its loops, by which threads, as which launches, and why not
// better; and the memory that its kernels ask for.
#pragma once

#include <string>

#include "runtime/program/arena.h"
#include "runtime/program/bound.h"
#include "runtime/program/kernel.h"
#include "runtime/program/program.h"

namespace graphrun {

// A line for each scan, those in its body below it. Every symbol has a size. Throws what bind throws.
std::string describe_loops(const Program& program, const SymbolValues& sizes, Target target);

// How a bound scan of a binding of the program runs: "read: 30 steps of 2 kernels, by 2 threads, …".
std::string describe_loop(const Program& program, const ProgramLayout& layout, const BoundInstruction& loop);

// The arena with what kernels work in, and what they keep outside of it from run to run; on the CPU by threads() threads.
// Throws as describe_loops does.
std::string describe_bound_memory(const Program& program, const SymbolValues& sizes, Target target = {});

}  // namespace graphrun
