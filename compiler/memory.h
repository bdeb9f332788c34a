// Where each value is stored: which values share memory, and which are computed directly in their final place. Runs after
// scheduling, on whose order it depends, and before lowering. Everything is symbolic: offsets follow from sizes when a batch is
// bound (runtime/program/arena.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/program/program.h"

namespace graphrun {

// Memory of a region, in use from one node to another, both included. Position n is that of node n; the number of nodes is the
// position of the copies at the end.
struct BlockPlan {
  ir::TensorType type;
  std::int32_t first = 0, last = 0;
};

// A copy of a value into a slot at the end of the region; the copy goes through a staging block if the slot's old contents are
// still to be copied elsewhere.
struct CopyPlan {
  ir::ValueId from = ir::kNone;
  std::int32_t slot = -1;
  std::int32_t staging_block = -1;
};

// The slots of a scan's body, by role.
inline ScanSlots slots_of(const ir::ScanLayout& scan) { return {scan.states, scan.each, scan.invariants, scan.outputs}; }

struct ScanMemory;

// Slots as in Region (runtime/program/program.h).
struct RegionPlan {
  std::vector<Storage> values;  // by value
  std::vector<BlockPlan> blocks;
  std::vector<CopyPlan> copies;
  std::map<std::int32_t, ScanMemory> scans;  // by node
  std::int32_t slots = 0;                    // their number: places for the addresses that the region receives when it runs
};

// What a scan's node needs besides its operands and results: how each state passes from step to step, and the plan of its body.
struct ScanMemory {
  std::vector<StateSpec> states;
  RegionPlan body;
};

struct MemoryPlan {
  RegionPlan root;
};

struct MemoryOptions {
  // false: every value has its own memory for the whole run of its region, and results are copied to their final place. For
  // tests, and to find out whether sharing causes a wrong result.
  bool reuse = true;
};

// Memory is shared, provided that no value is overwritten before its last reader, as follows:
//  - a view (OpSchema::view) uses its operand's memory;
//  - a result may overwrite an operand of equal type and sizes that is not read later (OpSchema::in_place);
//  - the next value of a variable overwrites the old one; a scan's state overwrites the state before the step;
//  - fetches, and results of a scan's body for a stack or the next step, are computed in their final place.
// A body reads outside values in its parent's memory. Its own memory is a block of the parent, in use while the scan runs.
MemoryPlan plan_memory(const ir::Graph& graph, const MemoryOptions& options = {});

// The plan as text: a line for each value with its storage, its block's interval and its bytes as a size.
std::string describe(const MemoryPlan& plan, const ir::Graph& graph, Precision precision = Precision::kFloat32);

// The memory of a run for a batch of these sizes: the arena, how much of it the instruction with the highest use needs and for
// which values, and the variables. Workspaces of kernels are not included, here and in the picture below; binding determines
// them (runtime/execute/binding_report.h).
std::string describe_peak(const Program& program, const SymbolValues& symbols);

// The arena over time for a batch of these sizes as an SVG picture: instructions to the right, bytes upward, a scan's body
// within the block of its scan.
std::string arena_svg(const Program& program, const SymbolValues& symbols);

}  // namespace graphrun
