// A scan's body seen from the graph around it: values of the body as whole sequences, and nodes of the body copied outside,
// for all steps at once.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"

namespace graphrun {

class AroundScan {
 public:
  // A value of the body outside: [steps, ...], or the same at every step.
  struct Outside {
    ir::ValueId value = ir::kNone;
    bool sequence = false;
  };

  // `builder` makes nodes in the graph around the scan; `scan` is a node of it, its operands known there. Operands of the scan
  // are outside from the start: the sequences and what is the same at every step.
  AroundScan(ir::Builder& builder, const ir::Node& scan);

  bool has(ir::ValueId v) const { return outside_[index(v)].value != ir::kNone; }
  void set(ir::ValueId v, Outside outside) { outside_[index(v)] = outside; }
  // Outside; the step's number and constants are made there when first asked for. The value must be known.
  Outside at(ir::ValueId v);
  ir::ValueId sequence(ir::ValueId v);  // repeated where it is the same at every step

  // Makes node n of the body again outside, by its op's sequence rule where an operand is a sequence; its operands are outside
  // already, and can_lift holds.
  void lift(std::size_t n);

 private:
  static std::size_t index(ir::ValueId v) { return static_cast<std::size_t>(v); }

  ir::Builder& b_;
  const ir::Graph& body_;
  Dim steps_;
  std::vector<Outside> outside_;
  ir::ValueId step_ = ir::kNone;
};

// Whether a value of this shape may be kept for every step of a loop: at most one of its sizes is known with the batch only.
bool may_be_stacked(const Shape& shape);

// A constant, which is copied to where it is needed instead of being carried across the border of a scan.
bool is_scalar_constant(const ir::Graph& graph, const ir::Node& node);

// What depends on what in a scan's body.
struct BodyDependence {
  std::vector<bool> on_state, on_step;  // by value: on a state; on a state, a slice, the step or a draw of random numbers
  std::vector<bool> for_state;          // by node: some state's next value needs it
};
BodyDependence dependence_in_body(const ir::Node& scan);

// Whether a node draws random numbers, itself or in its regions: others at each step.
bool draws(const ir::Node& node);

// Whether a node of a body can be computed for all steps at once, once its operands are outside.
bool can_lift(const ir::Graph& body, const ir::Node& node, const BodyDependence& dependence, const Dim& steps);

}  // namespace graphrun
