// What a run is fed, held against what the program asks for. Part of the runtime; its users see Executable.
#pragma once

#include <map>
#include <string>

#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

using Feeds = std::map<std::string, Tensor>;

// The symbols' numbers from the sizes of what is fed: a size that is a symbol binds it, one that is linear in one unknown
// symbol (time + 1) is solved for it, the program's defined symbols follow, every other one is checked. Also checks names,
// dtypes (FLOAT as float32 or float64) and ranks. Throws UserError (kBadData) with all mistakes found.
SymbolValues bind_sizes(const Program& program, const Feeds& feeds);

// Throws UserError (kBadData, E0626) where an element of an input with `below` or `lengths_of` lies outside its range, or one
// of a BOOL input is neither 0 nor 1. What lies on a device is not looked at here: kernels look at their indices.
void check_elements(const Program& program, const Feeds& feeds, const SymbolValues& symbols);

}  // namespace graphrun
