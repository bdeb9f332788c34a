#include "compiler/ir/sequence.h"

#include <algorithm>

namespace graphrun::ir {

Shape SequenceContext::with_steps(Shape shape) const {
  shape.insert(shape.begin(), steps);
  return shape;
}

ValueId SequenceContext::sequence(std::size_t i) {
  const SequenceOperand& operand = operands[i];
  if (operand.value == kNone || operand.sequence) return operand.value;
  return b.op("broadcast_to", {operand.value}, {{"shape", with_steps(operand.type.shape)}});
}

ValueId SequenceContext::aligned(std::size_t i, std::size_t rank) {
  Shape shape = operands[i].type.shape;
  if (shape.size() >= rank) return sequence(i);
  shape.insert(shape.begin(), rank - shape.size(), Dim(1));
  return b.op("reshape", {sequence(i)}, {{"shape", with_steps(std::move(shape))}});
}

std::vector<ValueId> SequenceContext::all_sequences() {
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < operands.size(); ++i) values.push_back(sequence(i));
  return values;
}

std::vector<ValueId> SequenceContext::again(std::vector<ValueId> inputs, const NamedAttributes& other) {
  NamedAttributes given;
  for (const auto& [name, value] : attributes.all()) {
    const auto it = std::find_if(other.begin(), other.end(), [&, key = name](const auto& o) { return o.first == key; });
    given.emplace_back(name, it == other.end() ? value : it->second);
  }
  return b.node(op, std::move(inputs), given);
}

}  // namespace graphrun::ir
