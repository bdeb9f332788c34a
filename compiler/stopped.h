// The values that stop_gradient treats as constants. Finite differences must treat them as constants too if they are compared
// with gradients.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// Appends the result of every stop_gradient of the graph to the outputs, inside scans as [steps, …]; returns the outputs'
// names. An output may have any type.
std::vector<std::string> take_stopped(ir::Graph& graph);

// Replaces every stop_gradient by an input of the same name and type; inside scans by a sequence.
void give_stopped(ir::Graph& graph);

}  // namespace graphrun
