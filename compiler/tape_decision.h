// What was decided about a loop's tape, for people to read.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// What was decided for one loop, for people to read: what its backward body reads of each step, what it makes again, and which
// of what it reads is there for that alone.
struct TapeDecision {
  struct Value {
    std::string name;
    ir::TensorType type;  // of one step
  };
  std::string scan;
  Dim steps;
  std::vector<Value> kept, remade, instead;
};
// How gradients of loops are made.
struct TapeOptions {
  bool recompute = true;  // false: everything that the backward body reads and that takes work to make is kept
  std::vector<TapeDecision>* decisions = nullptr;  // what was decided is appended, for each loop that has a gradient
};
// "layers.0.read keeps uh, wx, h.before: 7800*batch*time bytes; makes again f, i: saves 2600*batch*time bytes"
std::string describe(const TapeDecision& decision, Precision precision = Precision::kFloat32);

}  // namespace graphrun
