// A job's expressions over the outputs of its graph.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/expression.h"
#include "compiler/ir/graph.h"

namespace graphrun {

struct ExpressionRules {
  std::string field;  // of the job, for messages: "from"
  std::string code;   // of mistakes: "E0417 bad-infer"
  // Whether it may contain names of inputs and sizes, in addition to outputs, ops and numbers.
  bool inputs = false;
};

// Adds the expression's nodes to `graph`. If there is a mistake, adds it to `problems`, leaves the graph unchanged and returns
// ir::kNone.
ir::ValueId add_expression(ir::Graph& graph, const ir::SourceText& text, const std::string& name, const ExpressionRules& rules,
                           std::vector<Diagnostic>& problems);

}  // namespace graphrun
