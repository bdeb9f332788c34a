// The rules of compiler/passes/simplify.h: functions from one node to another node or to an existing value.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"

namespace graphrun {

// One node and the nodes that it depends on. A rule ends with `become` or `keep_op`, which check the type. If they return
// false, nothing has changed, and the rule does not apply.
class Match {
 public:
  Match(ir::Graph& graph, std::size_t node) : g_(graph), n_(node) {}

  const ir::Node& node() const { return g_.nodes[n_]; }
  ir::ValueId in(std::size_t i) const { return node().inputs[i]; }
  const ir::TensorType& type(ir::ValueId v) const { return g_.type(v); }
  const ir::TensorType& result() const { return type(node().outputs[0]); }

  // The node that computes v if it plays `role`; null otherwise.
  const ir::Node* made_by(ir::ValueId v, ir::Role role) const { return ir::made_by(g_, v, role); }
  // The node that computes v if it has the same op as this node; null otherwise.
  const ir::Node* made_by_same(ir::ValueId v) const;
  // Which of its node's results v is.
  int result_index(ir::ValueId v) const { return g_.value(v).result; }
  bool is_number(ir::ValueId v, double value) const { return ir::number(g_, v) == value; }
  bool is_zeros(ir::ValueId v) const { return ir::is_zeros(g_, v); }
  std::optional<double> number(ir::ValueId v) const { return ir::number(g_, v); }
  // The node that computes v; null if none does.
  const ir::Node* producer(ir::ValueId v) const { return ir::producer(g_, v); }

  // Replaces the node's only result by v.
  bool become(ir::ValueId v);
  // Replaces the node by op(inputs; attributes); attributes that are not named have their defaults.
  bool become(std::string_view op, std::vector<ir::ValueId> inputs, const ir::NamedAttributes& attributes = {});
  // The same with the node's own op.
  bool keep_op(std::vector<ir::ValueId> inputs, const ir::NamedAttributes& attributes = {});

  // The result of the rule.
  ir::ValueId replacement = ir::kNone;

 private:
  bool replace(const ir::OpSchema& op, std::vector<ir::ValueId> inputs, const ir::NamedAttributes& attributes);

  ir::Graph& g_;
  std::size_t n_;
};

using Rule = bool (*)(Match&);
using RuleTable = std::vector<std::pair<ir::Role, Rule>>;  // a role, a rule for its ops; in the order in which they are tried

// For every op: what its schema says about its numbers (OpSchema::algebra, OpSchema::identity).
bool by_algebra(Match& m);
// For every pointwise op: an operand that is broadcast to a shape that the other operands have anyway is read before the
// broadcast.
bool read_before_broadcast(Match& m);

const RuleTable& arithmetic_rules();
const RuleTable& shape_rules();

}  // namespace graphrun
