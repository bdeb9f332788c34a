// Arithmetic rules: operations without effect, operations that undo each other, and conditions that are known.
#include "compiler/passes/simplify_rules.h"

namespace graphrun {
namespace {

using ir::Node;
using ir::Role;
using ir::ValueId;

// Whether every element of v is `value`.
bool is_all(const Match& m, ValueId v, std::optional<double> value) {
  return value && (*value == 0 ? m.is_zeros(v) : m.is_number(v, *value));
}

bool of_one(Match& m) {
  const ir::Algebra& algebra = m.node().op->algebra;
  const Node* inner = m.made_by_same(m.in(0));
  if (inner && algebra.involution && m.become(inner->inputs[0])) return true;
  if (inner && algebra.idempotent && m.become(m.in(0))) return true;
  const Node* negative = algebra.even ? m.made_by(m.in(0), Role::kNegate) : nullptr;
  return negative && m.keep_op({negative->inputs[0]});
}

bool of_two(Match& m) {
  const ir::Algebra& algebra = m.node().op->algebra;
  const ValueId a = m.in(0), b = m.in(1);
  return (algebra.idempotent && a == b && m.become(a)) ||         //
         (is_all(m, b, algebra.right_neutral) && m.become(a)) ||  //
         (is_all(m, a, algebra.left_neutral) && m.become(b)) ||   //
         (is_all(m, a, algebra.absorbing) && m.become(a)) ||      //
         (is_all(m, b, algebra.absorbing) && m.become(b));
}

bool subtract_from_zeros(Match& m) { return m.is_zeros(m.in(0)) && m.become("neg", {m.in(1)}); }

// a + (-b), (-a) + b.
bool add_negative(Match& m) {
  if (const Node* n = m.made_by(m.in(1), Role::kNegate)) return m.become("sub", {m.in(0), n->inputs[0]});
  if (const Node* n = m.made_by(m.in(0), Role::kNegate)) return m.become("sub", {m.in(1), n->inputs[0]});
  return false;
}
bool subtract_negative(Match& m) {
  const Node* n = m.made_by(m.in(1), Role::kNegate);
  return n && m.become("add", {m.in(0), n->inputs[0]});
}
bool times_minus_one(Match& m) {
  return (m.is_number(m.in(1), -1) && m.become("neg", {m.in(0)})) || (m.is_number(m.in(0), -1) && m.become("neg", {m.in(1)}));
}
bool power_two(Match& m) { return m.is_number(m.in(1), 2) && m.become("square", {m.in(0)}); }

bool not_equal(Match& m) {
  if (const Node* n = m.made_by(m.in(0), Role::kEqual)) return m.become("ne", n->inputs);
  if (const Node* n = m.made_by(m.in(0), Role::kNotEqual)) return m.become("eq", n->inputs);
  return false;
}

// If all elements of v are known to be the same number, returns it.
std::optional<double> every_element(const Match& m, ValueId v) {
  const Node* n = m.producer(v);
  while (n && (plays(*n, Role::kBroadcast) || plays(*n, Role::kExpand) || plays(*n, Role::kReshape))) {
    v = n->inputs[0];
    n = m.producer(v);
  }
  return m.number(v);
}

bool select_equal_branches(Match& m) { return m.in(1) == m.in(2) && m.become(m.in(1)); }
bool select_known_condition(Match& m) {
  const std::optional<double> condition = every_element(m, m.in(0));
  return condition && m.become(m.in(*condition != 0 ? 1 : 2));
}
bool select_not(Match& m) {
  const Node* n = m.made_by(m.in(0), Role::kNot);
  return n && m.keep_op({n->inputs[0], m.in(2), m.in(1)});
}
// A selection inside a branch of another one with the same condition: its choice is known.
bool select_in_select(Match& m) {
  const Node* a = m.made_by(m.in(1), Role::kSelect);
  if (a && a->inputs[0] == m.in(0) && m.keep_op({m.in(0), a->inputs[1], m.in(2)})) return true;
  const Node* b = m.made_by(m.in(2), Role::kSelect);
  return b && b->inputs[0] == m.in(0) && m.keep_op({m.in(0), m.in(1), b->inputs[2]});
}

bool cast_to_itself(Match& m) { return m.become(m.in(0)); }
// A cast of BOOL through any other type is one cast: 0 and 1 are exact in every type.
bool cast_of_cast(Match& m) {
  const Node* n = m.made_by(m.in(0), Role::kCast);
  if (!n || m.type(n->inputs[0]).type != Type::kBool) return false;
  return m.become(n->inputs[0]) || m.keep_op({n->inputs[0]}, {{"type", m.node().attributes.string("type")}});
}

}  // namespace

bool by_algebra(Match& m) {
  const Node& node = m.node();
  if (node.op->identity && node.op->identity(node.attributes) && m.become(m.in(0))) return true;
  if (node.inputs.size() == 1) return of_one(m);
  return node.inputs.size() == 2 && of_two(m);
}

const RuleTable& arithmetic_rules() {
  static const RuleTable rules = {
      {Role::kAdd, add_negative},
      {Role::kSubtract, subtract_from_zeros},
      {Role::kSubtract, subtract_negative},
      {Role::kMultiply, times_minus_one},
      {Role::kPower, power_two},
      {Role::kNot, not_equal},
      {Role::kSelect, select_equal_branches},
      {Role::kSelect, select_known_condition},
      {Role::kSelect, select_not},
      {Role::kSelect, select_in_select},
      {Role::kCast, cast_to_itself},
      {Role::kCast, cast_of_cast},
  };
  return rules;
}

}  // namespace graphrun
