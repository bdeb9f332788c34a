// A value of a graph as an expression of the language, for help.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// Values that stand by a name of their own; everything else is written out, down to them. What an expression reads more than
// once is named t1, t2, … behind it: "t1 * (1 - t1), where t1 = tanh(x)". A cast to FLOAT is left out, as the language makes
// FLOAT of whole numbers beside FLOAT by itself.
class ExpressionText {
 public:
  ExpressionText(const ir::Graph& graph, std::map<ir::ValueId, std::string> names);

  // Expressions separated by "; ", then what they share. `labels` stand before them: "dx" gives "dx = …".
  std::string of(const std::vector<std::pair<std::string, ir::ValueId>>& labels);

 private:
  const ir::Node* node_of(ir::ValueId v) const;
  ir::ValueId without_cast(ir::ValueId v) const;
  void count(ir::ValueId v);
  std::string text(ir::ValueId v, int level);
  std::string written(const ir::Node& node, std::size_t result, int& level);
  std::string call(const ir::Node& node);

  const ir::Graph& graph_;
  std::map<ir::ValueId, std::string> names_;
  std::map<ir::ValueId, int> reads_;
  std::vector<std::pair<std::string, ir::ValueId>> shared_;
};

// An attribute as equations write it: 0.5, true, 'INT32', [m, n].
std::string attribute_text(const Attribute& value);

}  // namespace graphrun
