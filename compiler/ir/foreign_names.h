// Names used by other frameworks, and their equivalents here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/op.h"

namespace graphrun::ir {

// The equivalent of an op with that name or a similar one: "concat(a, b, axis=-1)"; "" if no framework has such an op.
std::string here_op_is(std::string_view foreign);
// The help for a call of an unknown op: its equivalent here or, if `guess`, the ops or `others` with similar names; and how to
// list all ops.
std::string unknown_op_help(std::string_view name, bool guess = true, std::vector<std::string> others = {});
// The equivalent of a value as other languages spell it: `true` for `True`; "" for other words.
std::string here_value_is(std::string_view foreign);
// The op's own name for an attribute or operand that other frameworks name differently: `axis` for `dim`; "" if there is none.
std::string_view here_attribute_is(const OpSchema& op, std::string_view foreign);

}  // namespace graphrun::ir
