// How operators are differentiated, for help: what their rules build, as expressions of the language.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "compiler/ir/op.h"

namespace graphrun {

inline constexpr std::size_t kHelpColumns = 100;  // of a line of help

// The rule of an operator in a line: a use of it, then each FLOAT operand's gradient, or why there is none.
//
//   tanh(x)                   dx = g * (1 - y * y)
//   cumsum(x [m, n], axis=0)  dx = cumsum(g, axis=0, reverse=true)
//   sign                      no gradient: the result is constant almost everywhere
//
// The rule is run on operands of the shapes that are shown. Throws InternalError for an operator of which no use is known.
struct GradientRuleText {
  std::string use, rule;
  std::set<const ir::OpSchema*> internal;  // the compiler's own operators in the rule
};
GradientRuleText gradient_rule(const ir::OpSchema& op);

// Those of all operators that equations can name, and of loops, by family.
std::string gradient_rules();

// The end of an operator's page: its rule, with the compiler's own operators in it, or why there is no gradient. Of an operator
// that only the compiler uses, whether it has one.
std::string gradient_section(const ir::OpSchema& op);

}  // namespace graphrun
