// Which loops can be divided (compiler/passes/parallelize_history.h), and to which of the new loops each part of their bodies
// goes.
#pragma once

#include <map>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

struct DivisionPlan {
  bool possible = false;
  ir::Graph body;                           // the scan's, with the size of histories written as its steps
  std::map<ir::ValueId, ir::ValueId> rows;  // by history, after the step: what it gathers
  std::vector<int> level;                   // by value: the number of the new loop that makes it, or whose state it is
  std::vector<bool> local;  // by value: depends on the step and on invariants only; every new loop computes it for itself
  int loops = 0;
};

// `read`: by value of the enclosing graph, whether anything reads it.
DivisionPlan plan_division(const ir::Node& scan, const std::vector<bool>& read);

}  // namespace graphrun
