// A job's expressions over what its graph gives.
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
  // Beside outputs, ops and numbers the names of inputs and sizes may stand in it.
  bool inputs = false;
};

// Adds the expression's nodes to `graph`, which stays as it is where something is wrong; then problems say what, and the result
// is ir::kNone.
ir::ValueId add_expression(ir::Graph& graph, const ir::SourceText& text, const std::string& name, const ExpressionRules& rules,
                           std::vector<Diagnostic>& problems);

}  // namespace graphrun
