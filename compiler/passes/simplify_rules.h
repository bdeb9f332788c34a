// The rules of compiler/passes/simplify.h: functions from one node to another node or to a value that is already there.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"

namespace graphrun {

// One node and what stands above it. A rule ends with `become` or `keep_op`, which check the type: where they return false
// nothing has happened, and the rule does not fire.
class Match {
 public:
  Match(ir::Graph& graph, std::size_t node) : g_(graph), n_(node) {}

  const ir::Node& node() const { return g_.nodes[n_]; }
  ir::ValueId in(std::size_t i) const { return node().inputs[i]; }
  const ir::TensorType& type(ir::ValueId v) const { return g_.type(v); }
  const ir::TensorType& result() const { return type(node().outputs[0]); }

  // The node that made v, where it plays `role`; null otherwise.
  const ir::Node* made_by(ir::ValueId v, ir::Role role) const { return ir::made_by(g_, v, role); }
  // The node that made v, where its op is this node's; null otherwise.
  const ir::Node* made_by_same(ir::ValueId v) const;
  // The result of which v is one.
  int result_index(ir::ValueId v) const { return g_.value(v).result; }
  bool is_number(ir::ValueId v, double value) const { return ir::number(g_, v) == value; }
  bool is_zeros(ir::ValueId v) const { return ir::is_zeros(g_, v); }
  std::optional<double> number(ir::ValueId v) const { return ir::number(g_, v); }
  // The node that made v; null where none did.
  const ir::Node* producer(ir::ValueId v) const { return ir::producer(g_, v); }

  // The node's only result is v.
  bool become(ir::ValueId v);
  // The node is op(inputs; attributes) from now on; attributes that are not named have their defaults.
  bool become(std::string_view op, std::vector<ir::ValueId> inputs, const ir::NamedAttributes& attributes = {});
  // The same with the op that the node has.
  bool keep_op(std::vector<ir::ValueId> inputs, const ir::NamedAttributes& attributes = {});

  // What the rule decided.
  ir::ValueId replacement = ir::kNone;

 private:
  bool replace(const ir::OpSchema& op, std::vector<ir::ValueId> inputs, const ir::NamedAttributes& attributes);

  ir::Graph& g_;
  std::size_t n_;
};

using Rule = bool (*)(Match&);
using RuleTable = std::vector<std::pair<ir::Role, Rule>>;  // a role, a rule for its ops; in the order in which they are tried

// Of every op: what its schema says about its numbers (OpSchema::algebra, OpSchema::identity).
bool by_algebra(Match& m);
// Of every pointwise op: what is broadcast to a shape that its other operands have anyway is read as it was.
bool read_before_broadcast(Match& m);

const RuleTable& arithmetic_rules();
const RuleTable& shape_rules();

}  // namespace graphrun
