// Expands files to one typed graph: calls and repeats are inlined, scans become nodes with a body, every name gets its meaning
// and every value its type.
#pragma once

#include <vector>

#include "compiler/frontend/library.h"
#include "compiler/frontend/request.h"
#include "compiler/ir/graph.h"

namespace graphrun::frontend {

// `diagnostics` receives every mistake and warning; the graph is complete only if none of them is an error.
ir::Graph expand(Library& library, const Definition& root, const GraphRequest& request, std::vector<Diagnostic>& diagnostics);

}  // namespace graphrun::frontend
