// Splits lists of "name = expression" in a job's strings without parsing the expressions.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/expression.h"

namespace graphrun {

struct BindingText {
  std::string name;      // "cell"; empty where no `=` names it
  ir::SourceText value;  // the expression, spaces trimmed
  ir::SourceText whole;  // "cell = cells/atr.pbtxt"
};

// The parts of a text between commas outside parentheses, brackets and quotes, with spaces trimmed; no parts if the text is
// blank.
std::vector<ir::SourceText> split_list(const ir::SourceText& text);
std::vector<BindingText> split_bindings(const ir::SourceText& text);

}  // namespace graphrun
