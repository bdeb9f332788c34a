// What the compiler decided to save for a loop's backward body.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// The decision for one loop, for people to read: the values of each step that its backward body reads, those that it
// recomputes, and those that it reads only to recompute others (`instead`).
struct TapeDecision {
  struct TapedValue {
    std::string name;
    ir::TensorType type;  // of one step
  };
  std::string scan;
  Dim steps;
  std::vector<TapedValue> saved, recomputed, instead;
};
// How loops are differentiated.
struct TapeOptions {
  bool recompute = true;  // false: keep everything that the backward body reads and that takes work to compute
  std::vector<TapeDecision>* decisions = nullptr;  // a decision is appended for each loop that has a gradient
};
// The bytes that the loop saves at each step.
Dim kept_bytes(const TapeDecision& decision, Precision precision = Precision::kFloat32);
// "layers.0.read keeps uh, wx, h.before: 7800*batch*time bytes; recomputes f, i: saves 2600*batch*time bytes"
std::string describe(const TapeDecision& decision, Precision precision = Precision::kFloat32);

}  // namespace graphrun
