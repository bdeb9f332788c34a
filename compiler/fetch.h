// What a program gives back, chosen by name.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// `graph` with just these outputs, in this order: outputs by name, or any other value by its path, "read.forward.i"; an
// equation or a call's output that only names another value has a path too ("crf.path"). A value inside of scans comes out
// stacked, an axis of steps for each scan around it. Throws UserError (kUsage, E0403) naming near ones.
ir::Graph with_fetches(ir::Graph graph, const std::vector<std::string>& names);

// `graph` with those of them that it has as further outputs, so that they outlive what is done to it before with_fetches.
ir::Graph with_fetches_kept(ir::Graph graph, const std::vector<std::string>& names);

}  // namespace graphrun
