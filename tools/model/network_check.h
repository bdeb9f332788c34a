// Whether a job and the graph that it names fit together, beyond what the compiler asks: each mistake at its place in the job.
#pragma once

#include "compiler/ir/graph.h"
#include "tools/model/model_folder.h"

namespace graphrun {

// The network's graph in training and in inference. Throws UserError (kInvalidGraph) with all that is wrong: E0401 what is
// minimized is no output, or no FLOAT scalar; E0412 names that reports don't find; E0417 infer blocks (check_infer); E0426
// states that would live from batch to batch of data that is no stream; E0421 inputs that are not fed, E0622 and E0623 those
// whose feed has another type or other axes. A feed that nothing reads is a warning (E0421).
void check_network(const ir::Graph& training, const ir::Graph& inference, const Network& network,
                   std::vector<Diagnostic>& warnings);

}  // namespace graphrun
