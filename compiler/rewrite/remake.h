// What a loop need not hand out, because it is less to hand out what it is made of and to make it again outside: pointwise work
// over an axis that nothing it reads of the states has, as the scores of all pairs of labels at a step.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/rewrite/around_scan.h"

namespace graphrun {

struct Remake {
  std::vector<std::size_t> nodes;    // of the body, in order: to be lifted (AroundScan)
  std::vector<ir::ValueId> sources;  // what they read of the loop, to be handed out
};

// How to make v of the body again outside; none where it is no such work.
std::optional<Remake> remake_of(const ir::Node& scan, const BodyDependence& dependence, ir::ValueId v);

}  // namespace graphrun
