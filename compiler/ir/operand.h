// Applies an op to operands as written in equations: values, numbers, sizes, words, lists; by position and by name. This is the
// only place where the language's `op(a, b, attribute=1)` becomes a node; both the front end and the gradients' equations use
// it.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/builder.h"

namespace graphrun::ir {

struct Number {
  enum class Kind : std::uint8_t { kInt, kFloat, kBool } kind = Kind::kInt;
  double value = 0;
};

// A list contains sizes or integers.
using Operand = std::variant<ValueId, Number, Dim, std::string, std::vector<Dim>>;

using NamedOperands = std::vector<std::pair<std::string, Operand>>;

// Positional operands fill the inputs in the schema's order, then the attributes in theirs; named operands fill either. A
// number given for a value becomes a constant with the type of the other operands. Throws OpError.
std::vector<ValueId> apply(Builder& builder, const OpSchema& op, const std::vector<Operand>& operands,
                           const NamedOperands& named = {});

// Checks that the op has an input or an attribute for each of `operands` positional operands and for each of these names, and
// that none of its required inputs is missing, whatever the values are. Throws OpError (E0305, E0307), as apply() does.
void check_call(const OpSchema& op, std::size_t operands, const std::vector<std::string>& names);

// "values, indices = topk(x, k)": the form of the call, for messages.
std::string signature(const OpSchema& op);

}  // namespace graphrun::ir
