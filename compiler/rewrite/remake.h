// Values that a loop need not return, because returning their operands and recomputing the values outside takes less memory:
// pointwise work over an axis that none of its operands that depend on states has, such as the scores of all pairs of labels.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/rewrite/around_scan.h"

namespace graphrun {

struct Remake {
  std::vector<std::size_t> nodes;    // of the body, in order: to be lifted (AroundScan)
  std::vector<ir::ValueId> sources;  // the values of the loop that they read, which the loop must return
};

// How to recompute the body's value v outside; nullopt if it is no such value.
std::optional<Remake> remake_of(const ir::Node& scan, const BodyDependence& dependence, ir::ValueId v);

}  // namespace graphrun
