// The names that other frameworks use, and how each is written here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/op.h"

namespace graphrun::ir {

// How an op of that name, or of one near it, is written here: "concat(a, b, axis=-1)"; "" where nobody has such an op.
std::string here_op_is(std::string_view foreign);
// The help for a call of an op that does not exist: how it is written here or, where `guess`, which op or which of `others` has
// a name like it; and where all ops are listed.
std::string unknown_op_help(std::string_view name, bool guess = true, std::vector<std::string> others = {});
// How a value that other languages spell so is written: `True` is `true`; "" for others.
std::string here_value_is(std::string_view foreign);
// What the op calls an attribute or operand that others call so: `dim` is `axis`; "" where it has none such.
std::string_view here_attribute_is(const OpSchema& op, std::string_view foreign);

}  // namespace graphrun::ir
