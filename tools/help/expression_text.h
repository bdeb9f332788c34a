// A value of a graph as an expression of the language, for help.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/printer.h"

namespace graphrun {

// `names` names some values; all others are written in terms of these. A value that an expression reads more than once is named
// t1, t2, … and defined after it: "t1 * (1 - t1), where t1 = tanh(x)". A cast to FLOAT is omitted if the language inserts it
// because another operand is FLOAT (ir::Promotion).
class ExpressionText {
 public:
  ExpressionText(const ir::Graph& graph, std::map<ir::ValueId, std::string> names);

  // Expressions separated by "; ", then the values that they share. Each begins with its label: "dx" gives "dx = …".
  std::string of(const std::vector<std::pair<std::string, ir::ValueId>>& labels);

 private:
  const ir::Node* node_of(ir::ValueId v) const;
  // If v is a cast of an INT32 or BOOL value to FLOAT, returns that value; otherwise kNone.
  ir::ValueId cast_to_float(ir::ValueId v) const;
  // Operand i of the node, without a cast that the language inserts.
  ir::ValueId operand(const ir::Node& node, std::size_t i) const;
  void count(ir::ValueId v);
  ir::WrittenExpression expression(ir::ValueId v);
  ir::WrittenExpression written(const ir::Node& node, std::size_t result);
  std::string call(const ir::Node& node);

  const ir::Graph& graph_;
  std::map<ir::ValueId, std::string> names_;
  std::map<ir::ValueId, int> reads_;
  std::vector<std::pair<std::string, ir::ValueId>> shared_;
};

}  // namespace graphrun
