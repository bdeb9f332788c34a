// A program bound to the sizes of one batch: kernels are made, every block is placed, and every operand either has its address
// or is in a slot whose address will be set. Part of the runtime; its users see Executable.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/device.h"
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
  std::vector<Sizes> variable_sizes, fetch_sizes;  // by number
  std::vector<std::int64_t> scan_steps;            // space for the positions of nested scans, outermost first
  const void* base = nullptr;                      // the arena that the current addresses refer to
  std::vector<PackedWeights*> packed;              // of all its instructions, derived from variables alone
  std::vector<PackedWeights*> packed_feeds;        // the same, derived from lasting feeds
  std::vector<const BoundInstruction*> numbered;   // by number - 1
  std::int64_t most_steps = 0;                     // the largest of its scans
  std::unique_ptr<RecordedRuns> recorded;          // on a device only
};

// Makes the kernels and lays out the arena; data that kernels keep from run to run is in `store`, or in `of_feeds` if it is
// derived from lasting feeds (null: nothing is kept of them). Both must outlive the binding. Throws UserError (E0602) if a size
// is negative, and whatever kernels throw.
std::unique_ptr<Binding> bind(const Program& program, const SymbolValues& symbols, Target target, PackedWeightsStore& store,
                              PackedWeightsStore* of_feeds = nullptr);

// Sets the binding's addresses for an arena of at least layout.bytes.
void rebase(Binding& binding, void* arena);

}  // namespace graphrun
