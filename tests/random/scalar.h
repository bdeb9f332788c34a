// Reduces everything that a graph computes to one number, to differentiate.
#pragma once

#include "compiler/ir/graph.h"

namespace graphrun::random_graphs {

// Adds the sum of y * y + y over the elements of all FLOAT outputs and next states; kNone if there are none.
ir::ValueId scalar_of(ir::Graph& graph);

}  // namespace graphrun::random_graphs
