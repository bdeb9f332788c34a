// Reports what only binding can determine about a program at given sizes: how its loops run, with which threads or launches,
// and why not in a faster way; and the memory that its kernels need.
#pragma once

#include <string>

#include "runtime/program/kernel.h"
#include "runtime/program/program.h"

namespace graphrun {

// One line for each scan, followed by those in its body. Every symbol must have a size. Throws whatever bind throws.
std::string describe_loops(const Program& program, const SymbolValues& sizes, Target target);

// The size of the arena, including the kernels' workspace, and of what kernels keep outside it from run to run; on the CPU for
// threads() threads. Throws like describe_loops.
std::string describe_bound_memory(const Program& program, const SymbolValues& sizes, Target target = {});

}  // namespace graphrun
