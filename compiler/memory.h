// Where each value lives: which share memory, and which are computed straight into where they belong. After scheduling, whose
// order it stands on; before lowering. All of it is symbolic: offsets follow from sizes, when a batch is bound
// (runtime/program/arena.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/program/program.h"

namespace graphrun {

// Memory of a region's own, taken from one node to another, both included. Position n is node n's; the number of nodes is that
// of the copies at the end.
struct BlockPlan {
  ir::TensorType type;
  std::int32_t first = 0, last = 0;
};

// At the end of the region a value is copied into a slot; through a block where what the slot holds is itself still to be
// copied.
struct CopyPlan {
  ir::ValueId from = ir::kNone;
  std::int32_t slot = -1;
  std::int32_t staging_block = -1;
};

// The slots of the body of such a scan.
inline ScanSlots slots_of(const ir::ScanLayout& scan) { return {scan.states, scan.each, scan.invariants, scan.outputs}; }

struct ScanMemory;

// Slots as in Region (runtime/program/program.h).
struct RegionPlan {
  std::vector<Storage> values;  // by value
  std::vector<BlockPlan> blocks;
  std::vector<CopyPlan> copies;
  std::map<std::int32_t, ScanMemory> scans;  // by node
  std::int32_t slots = 0;
};

struct ScanMemory {
  std::vector<StateSpec> states;
  RegionPlan body;
};

struct MemoryPlan {
  RegionPlan root;
};

struct MemoryOptions {
  // Without: every value has memory of its own for the whole run of its region, and everything is copied to where it belongs.
  // For tests, and to see whether a wrong result comes from sharing.
  bool reuse = true;
};

// Sharing, each only where no value is overwritten before its last reader:
//  - views (OpSchema::view) are their operand's memory;
//  - results in place (OpSchema::in_place) of an operand that dies there, of equal type and sizes;
//  - a variable's next value over the old one; a scan's state over the one before the step;
//  - what a run gives out, and what a scan's body gives to a stack or to the next step, is computed where it belongs.
// What a body reads of the outside is its parent's memory; its own is a block of the parent's, taken while the scan runs.
MemoryPlan plan_memory(const ir::Graph& graph, const MemoryOptions& options = {});

// The plan as text: a line for each value with its storage, its block's interval and its bytes as a size.
std::string describe(const MemoryPlan& plan, const ir::Graph& graph, Precision precision = Precision::kFloat32);

// What a run holds for a batch of these sizes: the arena, what of it is taken at the busiest instruction, by whom, and the
// variables. Without what kernels work in, which only binding them tells (runtime/execute/binding_report.h).
std::string describe_peak(const Program& program, const SymbolValues& symbols);

// The arena over time for a batch of these sizes as an SVG picture: instructions to the right, bytes upward, a scan's body
// within the block that its scan takes. Without what kernels work in, which only binding them tells
// (runtime/execute/binding_report.h).
std::string arena_svg(const Program& program, const SymbolValues& symbols);

}  // namespace graphrun
