// What a program returns, chosen by name.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// `graph` with just these outputs, in this order: outputs by name, or any other value by its path, "read.forward.i"; an
// equation or a call's output that only names another value has a path too ("crf.path"). A value inside scans is stacked: it
// has an axis of steps for each scan around it. Throws UserError (kUsage, E0403) that suggests similar names.
ir::Graph with_fetches(ir::Graph graph, const std::vector<std::string>& names);

// `graph` with those of the named values that it contains as further outputs, so that later stages keep them for with_fetches.
ir::Graph with_fetches_kept(ir::Graph graph, const std::vector<std::string>& names);

}  // namespace graphrun
