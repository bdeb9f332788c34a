// Lists of "name = expression" in a job's strings, cut into their parts without reading the expressions.
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

// Parts of a text between commas that stand in no parenthesis, bracket or quotes; spaces trimmed, none where all is blank.
std::vector<ir::SourceText> split_list(const ir::SourceText& text);
std::vector<BindingText> split_bindings(const ir::SourceText& text);

}  // namespace graphrun
