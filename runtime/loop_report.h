// How the loops of a program run at given sizes: by which threads, as which launches, and why not better.
#pragma once

#include <string>

#include "runtime/kernel.h"
#include "runtime/program.h"

namespace graphrun {

// A line for each scan, those in its body below it. Every symbol has a size. Throws what bind throws.
std::string describe_loops(const Program& program, const SymbolValues& sizes, Target target);

}  // namespace graphrun
