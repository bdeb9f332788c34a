// One piece of memory for all that a run computes: where in it each block lies, so that blocks which are taken at the same time
// never overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/program/program.h"

namespace graphrun {

// A block is taken from its first to its last position, both included.
struct ArenaBlock {
  std::int64_t bytes = 0;
  std::int32_t first = 0, last = 0;
};

struct ArenaLayout {
  std::vector<std::int64_t> offsets;  // of each block, multiples of kAlignment
  std::int64_t peak = 0;              // bytes of the arena
};

// Best fit, largest blocks first, or in the order of time where that is better or there are too many blocks for the former: a
// pure function of the blocks, n log n for many of them. Throws UserError (E0503) where the sum does not fit 63 bits.
ArenaLayout assign_offsets(const std::vector<ArenaBlock>& blocks);

// A region's blocks beyond those that the program names: what its instructions' kernels work in.
struct Workspace {
  std::int64_t bytes = 0;
  bool throughout = false;  // as long as the region runs, not its instruction alone
  std::int64_t copies = 1;  // of a scan's body, one behind the other: where each thread has its own
};
using Workspaces = std::vector<std::vector<Workspace>>;  // by region and instruction

// Where everything of a program lies for given sizes. A scan's body is a block of the region around it.
struct ProgramLayout {
  struct Region {
    std::int64_t base = 0;                 // of the region's part, in the arena
    std::int64_t bytes = 0;                // of that part
    std::vector<std::int64_t> blocks;      // offsets in the arena
    std::vector<std::int64_t> workspaces;  // by instruction, in the arena; 0 where it has none
  };
  std::vector<Region> regions;  // by Program::regions
  std::int64_t bytes = 0;       // of the arena
};
ProgramLayout layout(const Program& program, const SymbolValues& symbols, const Workspaces& workspaces = {});

}  // namespace graphrun
