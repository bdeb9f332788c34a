// Rules on numbers: what leaves its operand alone, what undoes another, what is decided already.
#include "compiler/passes/simplify_rules.h"

namespace graphrun {
namespace {

using ir::Node;
using ir::ValueId;

// op(x, e) and op(e, x) are x.
template <double Neutral>
bool neutral_right(Match& m) {
  return m.is_constant(m.in(1), Neutral) && m.become(m.in(0));
}
template <double Neutral>
bool neutral_left(Match& m) {
  return m.is_constant(m.in(0), Neutral) && m.become(m.in(1));
}

bool add_zeros(Match& m) { return (m.is_zeros(m.in(1)) && m.become(m.in(0))) || (m.is_zeros(m.in(0)) && m.become(m.in(1))); }
bool subtract_zeros(Match& m) { return m.is_zeros(m.in(1)) && m.become(m.in(0)); }
bool subtract_from_zeros(Match& m) { return m.is_zeros(m.in(0)) && m.become("neg", {m.in(1)}); }

// a + (-b), (-a) + b.
bool add_negative(Match& m) {
  if (const Node* n = m.made_by(m.in(1), "neg")) return m.become("sub", {m.in(0), n->inputs[0]});
  if (const Node* n = m.made_by(m.in(0), "neg")) return m.become("sub", {m.in(1), n->inputs[0]});
  return false;
}
bool subtract_negative(Match& m) {
  const Node* n = m.made_by(m.in(1), "neg");
  return n && m.become("add", {m.in(0), n->inputs[0]});
}
bool times_minus_one(Match& m) {
  return (m.is_constant(m.in(1), -1) && m.become("neg", {m.in(0)})) ||
         (m.is_constant(m.in(0), -1) && m.become("neg", {m.in(1)}));
}
bool power_two(Match& m) { return m.is_constant(m.in(1), 2) && m.become("square", {m.in(0)}); }

// f(f(x)) = x.
bool undoes_itself(Match& m) {
  const Node* n = m.made_by(m.in(0), m.node().op->name);
  return n && m.become(n->inputs[0]);
}
// f(f(x)) = f(x).
bool settles(Match& m) { return m.made_by(m.in(0), m.node().op->name) && m.become(m.in(0)); }
// f(x, x) = x.
bool of_the_same(Match& m) { return m.in(0) == m.in(1) && m.become(m.in(0)); }
// f(-x) = f(x).
bool forgets_the_sign(Match& m) {
  const Node* n = m.made_by(m.in(0), "neg");
  return n && m.become(m.node().op->name, {n->inputs[0]});
}

bool and_constant(Match& m) {
  if (m.is_constant(m.in(1), 1) || m.is_constant(m.in(0), 0)) return m.become(m.in(0));
  if (m.is_constant(m.in(0), 1) || m.is_constant(m.in(1), 0)) return m.become(m.in(1));
  return false;
}
bool or_constant(Match& m) {
  if (m.is_constant(m.in(1), 0) || m.is_constant(m.in(0), 1)) return m.become(m.in(0));
  if (m.is_constant(m.in(0), 0) || m.is_constant(m.in(1), 1)) return m.become(m.in(1));
  return false;
}
bool not_equal(Match& m) {
  if (const Node* n = m.made_by(m.in(0), "eq")) return m.become("ne", n->inputs);
  if (const Node* n = m.made_by(m.in(0), "ne")) return m.become("eq", n->inputs);
  return false;
}

bool where_equal_branches(Match& m) { return m.in(1) == m.in(2) && m.become(m.in(1)); }
bool where_known_condition(Match& m) {
  const Node* c = m.made_by(m.in(0), "constant");
  return c && m.become(m.in(c->attributes.number("value") != 0 ? 1 : 2));
}
bool where_not(Match& m) {
  const Node* n = m.made_by(m.in(0), "not");
  return n && m.become("where", {n->inputs[0], m.in(2), m.in(1)});
}
// A selection by the same condition inside a branch: what it takes there is known.
bool where_in_where(Match& m) {
  const Node* a = m.made_by(m.in(1), "where");
  if (a && a->inputs[0] == m.in(0) && m.become("where", {m.in(0), a->inputs[1], m.in(2)})) return true;
  const Node* b = m.made_by(m.in(2), "where");
  return b && b->inputs[0] == m.in(0) && m.become("where", {m.in(0), m.in(1), b->inputs[2]});
}

bool cast_to_itself(Match& m) { return m.become(m.in(0)); }
// BOOL widens to a number over any other: 0 and 1 are exact everywhere.
bool cast_of_cast(Match& m) {
  const Node* n = m.made_by(m.in(0), "cast");
  if (!n || m.type(n->inputs[0]).type != Type::kBool) return false;
  return m.become(n->inputs[0]) || m.become("cast", {n->inputs[0]}, {{"type", m.node().attributes.string("type")}});
}

bool dropout_nothing(Match& m) { return m.node().attributes.number("rate") == 0 && m.become(m.in(0)); }

}  // namespace

const RuleTable& arithmetic_rules() {
  static const RuleTable rules = {
      {"add", add_zeros},
      {"add", add_negative},
      {"sub", subtract_zeros},
      {"sub", subtract_from_zeros},
      {"sub", subtract_negative},
      {"mul", neutral_right<1.0>},
      {"mul", neutral_left<1.0>},
      {"mul", times_minus_one},
      {"div", neutral_right<1.0>},
      {"pow", neutral_right<1.0>},
      {"pow", power_two},
      {"neg", undoes_itself},
      {"not", undoes_itself},
      {"not", not_equal},
      {"abs", settles},
      {"abs", forgets_the_sign},
      {"relu", settles},
      {"square", forgets_the_sign},
      {"cos", forgets_the_sign},
      {"minimum", of_the_same},
      {"maximum", of_the_same},
      {"and", of_the_same},
      {"and", and_constant},
      {"or", of_the_same},
      {"or", or_constant},
      {"where", where_equal_branches},
      {"where", where_known_condition},
      {"where", where_not},
      {"where", where_in_where},
      {"cast", cast_to_itself},
      {"cast", cast_of_cast},
      {"dropout", dropout_nothing},
  };
  return rules;
}

}  // namespace graphrun
