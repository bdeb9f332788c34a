// The scan that computes the gradients of another scan. It runs in the other direction and reads values that the forward scan
// saves. It is planned first, as plain data, and then built from the plan.
//
// Both start from the joint body: the forward scan's body, followed by the nodes that compute its gradients. The joint body is
// divided: the first part remains the forward body and returns what the rest, the backward body, reads from it.
#pragma once

#include <set>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"

namespace graphrun {

// A scan's body and its gradients in one graph.
struct JointBody {
  ir::Graph graph;                // inputs and outputs are those of the body
  std::size_t forward_nodes = 0;  // the first ones, the body's own; the others compute gradients
  ir::ScanLayout layout;          // of the forward scan
  // By output: the value that represents its gradient, without a producer; kNone if there is no gradient. For a state, the
  // following step computes it.
  std::vector<ir::ValueId> seeds;
  // By input, except the step's number: its gradient at one step; kNone if there is none.
  std::vector<ir::ValueId> d_inputs;
};

// The operands and results of a backward scan, in order, and what the forward part saves. Values are those of the joint graph,
// positions those of the forward scan.
//
//   states    a gradient for each of `states`, then a sum for each of `sums`
//   each      `sequences`
//   the same  `invariants`
//   outputs   the states' next values, then a gradient for each of `d_slices`
struct BackwardScanPlan {
  struct Sequence {
    enum class Kind : std::uint8_t {
      kOutputGradient,  // of output `at` of the forward scan
      kSlice,           // operand `at` of the forward scan, a sequence
      kSaved,           // a further output of the forward scan
    } kind;
    ir::ValueId value;   // what a step reads from it
    std::size_t at = 0;  // see kind
    friend bool operator==(const Sequence&, const Sequence&) = default;
  };

  std::vector<std::size_t> states;      // states of which a gradient passes from step to step
  std::vector<std::size_t> sums;        // inputs that are the same at every step: their gradients are added up
  std::vector<Sequence> sequences;      // gradients of outputs; then slices and saved values by value
  std::vector<std::size_t> invariants;  // inputs that are the same at every step and are read
  std::vector<std::size_t> d_slices;    // inputs that are slices and have a gradient
  std::set<std::size_t> recomputed;     // nodes of the forward part that the backward body repeats
  std::set<ir::ValueId> instead;        // values that are saved only to recompute others

  std::vector<ir::ValueId> saved() const;  // what the forward scan saves, in order
};

// With `recompute`, results of pointwise work are recomputed if saving their operands takes less memory (compiler/tape.h).
// Without it, every value that takes work to compute is saved.
BackwardScanPlan plan_backward_scan(const JointBody& joint, bool recompute);

// The plan for people to read. `steps` are the scan's.
TapeDecision decision_of(const JointBody& joint, const BackwardScanPlan& plan, const Dim& steps);

// The gradient of an operand of the forward scan.
struct OperandGradient {
  std::size_t operand = 0;
  ir::ValueId value = ir::kNone;
};

// Gives node `scan` of the builder's graph the outputs that the plan saves and appends the backward scan. `d_outputs`: the
// gradients of the scan's results, kNone if there is none. Returns what the backward scan computes, in the order of its
// results; nothing if no backward scan is needed.
std::vector<OperandGradient> build_backward_scan(ir::Builder& builder, std::size_t scan, const JointBody& joint,
                                                 const BackwardScanPlan& plan, const std::vector<ir::ValueId>& d_outputs);

}  // namespace graphrun
