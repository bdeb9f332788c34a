// One piece of memory for everything that a run computes: assigns each block an offset, so that blocks in use at the same time
// never overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/program/program.h"

namespace graphrun {

// A block is in use from its first to its last position, both included.
struct ArenaBlock {
  std::int64_t bytes = 0;
  std::int32_t first = 0, last = 0;
};

struct ArenaLayout {
  std::vector<std::int64_t> offsets;  // of each block, multiples of kAlignment
  std::int64_t peak = 0;              // bytes of the arena
};

// Best fit, largest blocks first, or in order of time if that is better or there are too many blocks for the former. A pure
// function of the blocks; O(n log n) for many of them. Throws UserError (E0503) if the sum exceeds 63 bits.
ArenaLayout assign_offsets(const std::vector<ArenaBlock>& blocks);

// A block of a region in addition to those that the program names: the memory that a kernel works in.
struct Workspace {
  std::int64_t bytes = 0;
  bool throughout = false;  // reserved for as long as the region runs, not only during its instruction
  std::int64_t copies = 1;  // of a scan's body, one after the other: one for each thread
};
using Workspaces = std::vector<std::vector<Workspace>>;  // by region and instruction

// The offsets of everything in a program, for given sizes. A scan's body is a block of the region that contains it.
struct ProgramLayout {
  struct RegionLayout {
    std::int64_t base = 0;                 // where the region's part begins in the arena
    std::int64_t bytes = 0;                // the size of that part
    std::vector<std::int64_t> blocks;      // offsets in the arena
    std::vector<std::int64_t> workspaces;  // by instruction, offset in the arena; 0 if it has none
  };
  std::vector<RegionLayout> regions;  // in the order of Program::regions
  std::int64_t bytes = 0;             // of the arena
};
ProgramLayout layout(const Program& program, const SymbolValues& symbols, const Workspaces& workspaces = {});

}  // namespace graphrun
