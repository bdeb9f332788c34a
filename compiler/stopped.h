// What stop_gradient holds still, for whoever compares gradients with differences of values: differences must hold it too.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// Appends to the outputs what every stop_gradient of the graph gives, those in scans as [steps, …]; returns the outputs' names.
// An output may be of any type.
std::vector<std::string> take_stopped(ir::Graph& graph);

// Puts an input of the same name and type in the place of every stop_gradient, those in scans as a sequence.
void give_stopped(ir::Graph& graph);

}  // namespace graphrun
