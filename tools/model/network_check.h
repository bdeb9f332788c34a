// Checks that a job fits its graph, beyond what the compiler checks; mistakes are reported at their locations in the job.
#pragma once

#include "compiler/ir/graph.h"
#include "tools/model/model_folder.h"

namespace graphrun {

// `training` and `inference`: the network's graph in each. Throws UserError (kInvalidGraph) with all mistakes: E0401 if the
// objective is not an output or not a FLOAT scalar; E0412 for unknown names in reports; E0417 for infer blocks (check_infer);
// E0438 for reports and infer blocks that depend on parameters on which the objective does not depend; E0426 for states that
// would persist between batches of data that is not a stream; E0421 for inputs that are not fed; E0622 and E0623 for feeds of
// another type or with other axes. An unused feed gives a warning (E0421).
void check_network(const ir::Graph& training, const ir::Graph& inference, const Network& network,
                   std::vector<Diagnostic>& warnings);

}  // namespace graphrun
