// The last step of a compilation: a scheduled graph and its memory plan as the plain data that the runtime executes.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/memory.h"
#include "runtime/program/program.h"

namespace graphrun {

// The fetches are the graph's outputs. Views need no instruction; a scan becomes an instruction and a region.
Program lower(const ir::Graph& graph, const MemoryPlan& plan, Precision precision);

}  // namespace graphrun
