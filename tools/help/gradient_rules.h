// How operators are differentiated, for help: the graphs that their rules build, as expressions of the language.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "compiler/ir/op.h"

namespace graphrun {

inline constexpr std::size_t kHelpColumns = 100;  // width of a line of help

// The rule of an operator in one line: a use of it, then the gradient of each FLOAT operand, or why there is none.
//
//   tanh(x)                   dx = g * (1 - y * y)
//   cumsum(x [m, n], axis=0)  dx = cumsum(g, axis=0, reverse=true)
//   sign                      no gradient: the result is constant almost everywhere
//
// The rule is run on operands of the shapes shown. Throws InternalError for an operator without a known use.
struct GradientRuleText {
  std::string use, rule;
  std::set<const ir::OpSchema*> internal;  // internal operators in the rule
};
GradientRuleText gradient_rule(const ir::OpSchema& op);

// The rules of all operators that equations can use, and of loops, by family.
std::string gradient_rules();

// The end of an operator's page: its rule and the internal operators in it, or why there is no gradient. For an internal
// operator, only whether it has a gradient.
std::string gradient_section(const ir::OpSchema& op);

}  // namespace graphrun
