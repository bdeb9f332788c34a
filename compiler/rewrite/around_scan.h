// The body of a scan as seen from the enclosing graph: values of the body as whole sequences, and nodes of the body copied out
// of the scan, to run on all steps at once.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"

namespace graphrun {

class AroundScan {
 public:
  // A value of the body, outside: [steps, ...], or the same at every step.
  struct Outside {
    ir::ValueId value = ir::kNone;
    bool sequence = false;
  };

  // `builder` adds nodes to the enclosing graph, which contains `scan` and its operands. The scan's sequences and invariants
  // are available outside from the start.
  AroundScan(ir::Builder& builder, const ir::Node& scan);

  bool has(ir::ValueId v) const { return outside_[index(v)].value != ir::kNone; }
  void set(ir::ValueId v, Outside outside) { outside_[index(v)] = outside; }
  // The value outside. The number of the step and constants are created there on first use. Other values must be known.
  Outside at(ir::ValueId v);
  ir::ValueId sequence(ir::ValueId v);  // repeated if it is the same at every step

  // Copies node n of the body to the outside, by its op's sequence rule if an operand is a sequence. Its operands must be known
  // outside, and can_lift must hold.
  void lift(std::size_t n);

 private:
  static std::size_t index(ir::ValueId v) { return static_cast<std::size_t>(v); }

  ir::Builder& b_;
  const ir::Graph& body_;
  Dim steps_;
  std::vector<Outside> outside_;
  ir::ValueId step_ = ir::kNone;
};

// Whether a value of this shape may be saved for every step of a loop: at most one of its sizes depends on the batch.
bool may_be_stacked(const Shape& shape);

// Whether the node is a constant, which is copied to its readers instead of crossing the border of a scan.
bool is_scalar_constant(const ir::Graph& graph, const ir::Node& node);

// The dependences in a scan's body.
struct BodyDependence {
  std::vector<bool> on_state, on_step;  // by value: depends on a state; depends on a state, a slice, the step or a random draw
  std::vector<bool> for_state;          // by node: some state's next value needs it
};
BodyDependence dependence_in_body(const ir::Node& scan);

// Whether a node draws random numbers, itself or in its regions, and so differs from step to step.
bool draws(const ir::Node& node);

// Whether a node of a body can be computed for all steps at once if its operands are known outside.
bool can_lift(const ir::Graph& body, const ir::Node& node, const BodyDependence& dependence, const Dim& steps);

}  // namespace graphrun
