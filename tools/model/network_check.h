// Whether a job and the graph that it names fit together, beyond what the compiler asks: each mistake at its place in the job.
#pragma once

#include "compiler/ir/graph.h"
#include "tools/job/job.h"

namespace graphrun {

// `graph`: in training. Throws UserError (kInvalidGraph) with all that is wrong: E0401 what is minimized is no output, or no
// FLOAT scalar; E0426 states that would live from batch to batch of data that is no stream.
void check_network(const ir::Graph& graph, const LoadedJob& job);

}  // namespace graphrun
