// Checks a run's feeds against what the program expects. Part of the runtime; its users see Executable.
#pragma once

#include <map>
#include <string>

#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

using Feeds = std::map<std::string, Tensor>;

// The values of the symbols, from the sizes of the feeds: a size that is a single symbol binds it, one that is linear in one
// unknown symbol (time + 1) is solved for it, the program's defined symbols follow, and all other sizes are checked. Also
// checks names, dtypes (FLOAT as float32 or float64) and ranks. Throws UserError (kBadData) with all mistakes found.
SymbolValues bind_sizes(const Program& program, const Feeds& feeds);

// "input 'x' is fed a scalar; expected [batch, 3]", for a feed of another rank.
std::string wrong_rank(const FeedSpec& spec, const Sizes& sizes);

// Throws UserError (kBadData, E0626) if an element of an input with `below` or `lengths_of` is out of range, or an element of a
// BOOL input is neither 0 nor 1. Does not check feeds in device memory: kernels check their own indices.
void check_elements(const Program& program, const Feeds& feeds, const SymbolValues& symbols);

}  // namespace graphrun
