// What a pointwise program may contain, and which nodes the pass `fuse` combines in one.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/pointwise_program.h"
#include "compiler/ir/readers.h"

namespace graphrun {

// Disjoint groups of two or more pointwise nodes, each in the graph's order. All groups may be fused at once: no path leads out
// of a group and back in, directly or through other groups.
std::vector<std::vector<std::size_t>> find_fusible_groups(const ir::Graph& graph, const ir::Readers& readers);

// Whether a program may contain this node as an instruction; and that instruction, without its operands.
bool may_be_instruction(const ir::Node& node);
ir::PointwiseProgram::Instruction instruction_of(const ir::Graph& graph, const ir::Node& node);

// Whether a program may hold this value as a number.
bool is_program_number(const ir::Graph& graph, ir::ValueId v);

// A pointwise node as a program, and the values that the program reads.
struct PointwiseWork {
  ir::PointwiseProgram program;
  std::vector<ir::ValueId> inputs;
  std::vector<Origin> origins;  // by instruction
};
// `node`: a program, or one that may be an instruction.
PointwiseWork work_of(const ir::Graph& graph, const ir::Node& node);

}  // namespace graphrun
