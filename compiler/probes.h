// Gradients of values inside scans, one for each step: a value is replaced by its sum with a probe, a tensor of zeros in the
// root graph. The gradient of the probe is that of the value.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

struct Probe {
  std::string of;                 // the name of the value
  ir::ValueId value = ir::kNone;  // in the root, FLOAT: the value's shape after an axis of steps for each scan around it
};

// The FLOAT values of a graph or of a scan's body to probe: results of nodes, or inputs of a body. `states`: how many of its
// first inputs are states of the scan; 0 for the root.
using ProbeChoice = std::function<std::vector<ir::ValueId>(const ir::Graph& region, std::size_t states)>;

// Adds a probe for each chosen value: everything that reads the value reads the sum instead. Call it on a checked graph before
// differentiate(). The graph then computes the same numbers.
std::vector<Probe> add_probes(ir::Graph& root, const ProbeChoice& choose);

}  // namespace graphrun
