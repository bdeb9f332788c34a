// Lifts an op out of a scan: computes the results of every step at once, on operands that have the steps as an additional
// leading axis.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/builder.h"

namespace graphrun::ir {

// The input of a sequence rule: operands as values of the graph that contains the scan, each either a whole sequence [steps,
// ...] or the same at every step. At least one is a sequence, unless the op draws random numbers. A rule builds nodes for
// results [steps, ...], or returns none if it cannot.
class SequenceContext {
 public:
  struct SequenceOperand {
    ValueId value = kNone;  // kNone: absent
    TensorType type;        // at one step
    bool sequence = false;
  };

  SequenceContext(Builder& builder, const OpSchema& op, const Attributes& attributes, std::vector<SequenceOperand> operands,
                  Dim steps)
      : b(builder), op(op), attributes(attributes), operands(std::move(operands)), steps(std::move(steps)) {}

  Builder& b;
  const OpSchema& op;
  const Attributes& attributes;
  std::vector<SequenceOperand> operands;
  Dim steps;

  std::size_t rank(std::size_t i) const { return operands[i].type.shape.size(); }
  bool is_sequence(std::size_t i) const { return operands[i].sequence; }
  Shape with_steps(Shape shape) const;

  // Operand i as a sequence; an operand that is the same at every step is repeated. kNone if absent.
  ValueId sequence(std::size_t i);
  // The same, with axes of size 1 inserted after the axis of steps: besides that axis, it then has `rank` axes, and it
  // broadcasts as it does at a single step.
  ValueId aligned(std::size_t i, std::size_t rank);
  std::vector<ValueId> all_sequences();
  // Applies the op again with its own attributes, except those given.
  std::vector<ValueId> again(std::vector<ValueId> inputs, const NamedAttributes& other = {});
};

}  // namespace graphrun::ir
