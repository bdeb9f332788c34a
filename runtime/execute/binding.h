// A program with the sizes of one batch: kernels made, every block placed, every operand's address known or, for what lies in a
// slot, known to be set. Part of the runtime; its users see Executable.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/execute/recorded_runs.h"
#include "runtime/program/arena.h"
#include "runtime/program/bound.h"
#include "runtime/program/program.h"

namespace graphrun {

class PackedWeightsStore;

struct Binding {
  SymbolValues symbols;
  BoundRegion root;
  ProgramLayout layout;
  std::vector<std::int64_t> scan_steps;           // room for the positions of nested scans, outermost first
  const void* base = nullptr;                     // the arena that the addresses stand on
  std::vector<PackedWeights*> packed;             // of all its instructions
  std::vector<const BoundInstruction*> numbered;  // by number, less 1
  std::int64_t most_steps = 0;                    // of its scans
  std::unique_ptr<RecordedRuns> recorded;         // on a device
};

// Makes the kernels and lays out the arena; what they keep from run to run is in `store`, which outlives the binding. Throws
// UserError (E0602) where a size comes out negative, and what kernels throw.
std::unique_ptr<Binding> bind(const Program& program, const SymbolValues& symbols, Target target, PackedWeightsStore& store);

// Puts the binding's addresses into an arena of at least layout.bytes.
void rebase(Binding& binding, void* arena);

}  // namespace graphrun
