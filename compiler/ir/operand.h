// An op applied to operands as equations write them: values, numbers, sizes, words, lists; by position and by name. The one
// place where the language's `op(a, b, attribute=1)` becomes a node; the front end and the gradients' equations both come here.
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

// A list's elements are sizes or whole numbers.
using Operand = std::variant<ValueId, Number, Dim, std::string, std::vector<Dim>>;

using NamedOperands = std::vector<std::pair<std::string, Operand>>;

// Operands by position fill the inputs in the schema's order, then the attributes in theirs; operands by name fill either.
// A number where a value is wanted becomes a constant of the type that the other operands have. Throws OpError.
std::vector<ValueId> apply(Builder& builder, const OpSchema& op, const std::vector<Operand>& operands,
                           const NamedOperands& named = {});

// "values, indices = topk(x, k)": what the call looks like, for messages.
std::string signature(const OpSchema& op);

}  // namespace graphrun::ir
