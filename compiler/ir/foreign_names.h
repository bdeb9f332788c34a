// The names that other frameworks use, and how each is written here.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/op.h"

namespace graphrun::ir {

// How an op of that name, or of one near it, is written here: "concat(a, b, axis=-1)"; "" where nobody has such an op.
std::string here_op_is(std::string_view foreign);
// How a value that other languages spell so is written: `True` is `true`; "" for others.
std::string here_value_is(std::string_view foreign);
// What the op calls an attribute or operand that others call so: `dim` is `axis`; "" where it has none such.
std::string_view here_attribute_is(const OpSchema& op, std::string_view foreign);

}  // namespace graphrun::ir
