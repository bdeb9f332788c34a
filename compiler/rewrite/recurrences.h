// The recurrences in a scan's body: nodes and states that depend on themselves from step to step.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// Nodes and states that depend on each other. A node that depends on no state that depends on it is a group of its own, and so
// is a state whose next value does not depend on it.
struct RecurrenceGroup {
  std::vector<std::size_t> nodes, states;  // positions in the body and among its states, ascending
};

// The groups of the scan's body, each after those that it reads, in time linear in the size of the body. `apart`, by state: the
// node that computes a state's next value does not count as a reader of the state.
std::vector<RecurrenceGroup> recurrence_groups(const ir::Node& scan, const std::vector<bool>& apart);

}  // namespace graphrun
