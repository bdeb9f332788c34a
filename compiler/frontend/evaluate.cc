// Evaluates expressions to meanings: compile-time arithmetic, choices, subscripts, and ops as nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/frontend/compose.h"
#include "compiler/frontend/evaluate.h"
#include "compiler/frontend/history.h"
#include "compiler/ir/foreign_names.h"

namespace graphrun::frontend {
namespace {

using ir::Expression;
using ir::Number;

constexpr std::int64_t kHighestPowerOfSize = 8;  // of a symbol; no tensor needs a higher power
constexpr std::ptrdiff_t kStackBytes = 5 << 20;  // out of a thread's 8 MiB

std::optional<double> fold_numbers(const std::string& op, const std::vector<double>& x) {
  if (x.size() == 1) {
    if (op == "neg") return -x[0];
    if (op == "sqrt") return std::sqrt(x[0]);
    if (op == "exp") return std::exp(x[0]);
    if (op == "log") return std::log(x[0]);
    if (op == "abs") return std::abs(x[0]);
    if (op == "floor") return std::floor(x[0]);
    if (op == "sin") return std::sin(x[0]);
    if (op == "cos") return std::cos(x[0]);
    if (op == "tanh") return std::tanh(x[0]);
  }
  if (x.size() == 2) {
    if (op == "add") return x[0] + x[1];
    if (op == "sub") return x[0] - x[1];
    if (op == "mul") return x[0] * x[1];
    if (op == "div") return x[0] / x[1];
    if (op == "pow") return std::pow(x[0], x[1]);
    if (op == "minimum") return std::min(x[0], x[1]);
    if (op == "maximum") return std::max(x[0], x[1]);
  }
  return std::nullopt;
}

std::optional<bool> fold_truth(const std::string& op, const std::vector<double>& x) {
  if (x.size() == 1 && op == "not") return x[0] == 0;
  if (x.size() != 2) return std::nullopt;
  if (op == "eq") return x[0] == x[1];
  if (op == "ne") return x[0] != x[1];
  if (op == "lt") return x[0] < x[1];
  if (op == "le") return x[0] <= x[1];
  if (op == "gt") return x[0] > x[1];
  if (op == "ge") return x[0] >= x[1];
  if (op == "and") return x[0] != 0 && x[1] != 0;
  if (op == "or") return x[0] != 0 || x[1] != 0;
  return std::nullopt;
}

std::optional<Dim> as_dim(const Meaning& m) {
  if (const Dim* d = m.dim()) return *d;
  if (const Number* n = m.number(); n && n->kind == Number::Kind::kInt) return Dim(static_cast<std::int64_t>(n->value));
  return std::nullopt;
}

// Arithmetic at compile time; nullopt if a node is needed.
std::optional<Meaning> fold(const std::string& op, const std::vector<Meaning>& operands, const Location& at) {
  std::vector<double> x;
  bool whole = true, all_numbers = true;
  for (const Meaning& m : operands) {
    const Number* n = m.number();
    if (!n && !m.dim()) return std::nullopt;
    all_numbers &= n != nullptr;
    x.push_back(n ? n->value : 0);
    whole &= !n || n->kind == Number::Kind::kInt;
  }
  if (all_numbers) {
    if (op == "div" && x.size() == 2 && x[1] == 0) fail("E0311 division", at, "division by zero at compile time");
    if (op == "pow" && x.size() == 2 && x[0] == 0 && x[1] < 0) {
      fail("E0311 division", at, "0 to a negative power at compile time: a division by zero");
    }
    if (const auto truth = fold_truth(op, x)) return Meaning::truth(*truth);
    if (const auto number = fold_numbers(op, x)) {
      const bool stays_whole = whole && *number == std::floor(*number) && std::abs(*number) < 9e15 &&
                               (op == "add" || op == "sub" || op == "mul" || op == "div" || op == "neg" || op == "abs" ||
                                op == "minimum" || op == "maximum" || op == "pow");
      return Meaning(Number{stays_whole ? Number::Kind::kInt : Number::Kind::kFloat, *number});
    }
    return std::nullopt;
  }
  std::vector<Dim> d;
  for (const Meaning& m : operands) {
    const auto dim = as_dim(m);
    if (!dim) return std::nullopt;
    d.push_back(*dim);
  }
  if (d.size() == 1 && op == "neg") return Meaning::size(Dim(0) - d[0]);
  if (d.size() != 2) return std::nullopt;
  if (op == "add") return Meaning::size(d[0] + d[1]);
  if (op == "sub") return Meaning::size(d[0] - d[1]);
  if (op == "mul") return Meaning::size(d[0] * d[1]);
  if (op == "div") {
    if (const auto q = d[0].divided_by(d[1])) return Meaning::size(*q);
  }
  if (op == "pow" && d[1].is_constant() && d[1].constant() >= 1 && d[1].constant() <= kHighestPowerOfSize) {
    Dim product = d[0];
    for (std::int64_t k = 1; k < d[1].constant(); ++k) product = product * d[0];
    return Meaning::size(product);
  }
  if (op == "eq" && d[0] == d[1]) return Meaning::truth(true);
  if (op == "ne" && d[0] == d[1]) return Meaning::truth(false);
  return std::nullopt;
}

ir::Operand as_operand(const Meaning& m, Region& region, const Location& at) {
  if (const TensorRef* t = m.tensor()) return region.use(*t);
  if (const Number* n = m.number()) return *n;
  if (const Dim* d = m.dim()) return *d;
  if (const std::string* w = m.word()) return *w;
  if (const std::vector<Meaning>* list = m.list()) {
    std::vector<Dim> dims;
    for (const Meaning& e : *list) {
      const auto d = as_dim(e);
      if (!d) {
        fail("E0305 wrong-operands", at, "a list here holds sizes or whole numbers, found " + e.describe(),
             {e.tensor() ? "help: tensors are given one by one: concat(a, b, axis=-1)" : "help: [time, batch, 300]"});
      }
      dims.push_back(*d);
    }
    return dims;
  }
  fail("E0305 wrong-operands", at, "an op takes tensors, numbers, words and lists, found " + m.describe());
}

// The result of `make`, which builds nodes. An error of a shape rule is reported at `at`, with `about` in front of its text.
template <class Make>
auto placed(const Location& at, const std::string& about, const Make& make) {
  try {
    return make();
  } catch (const ir::OpError& e) {
    fail(e.code, at, about + e.what(), e.help.empty() ? std::vector<std::string>{} : std::vector<std::string>{e.help});
  }
}

}  // namespace

void bound_recursion(Expansion& expansion, const Location& at) {
  // Not the address of a variable: AddressSanitizer may store variables elsewhere.
  const auto* const here = static_cast<const char*>(__builtin_frame_address(0));
  if (std::abs(expansion.stack_begin - here) > kStackBytes) expansion.budget.stop_too_deep(at);
}

Meaning stacked(const Meaning& value, Region& region, const Location& at) {
  const std::vector<Meaning>* members = value.stack();
  if (!members) return value;
  if (members->empty()) fail("E0235 no-repetition", at, "nothing to stack: the repeat has no repetition");
  std::vector<Meaning> flat;
  for (const Meaning& m : *members) flat.push_back(stacked(m, region, at));
  if (const Members* first = flat[0].bundle()) {
    Members out;
    for (const auto& [name, unused] : *first) {
      std::vector<Meaning> one;
      for (const Meaning& m : flat) one.push_back(select(m, name, at));
      out.emplace_back(name, stacked(Meaning::stack(std::move(one)), region, at));
    }
    return Meaning::bundle(std::move(out));
  }
  std::vector<ir::ValueId> ids;
  for (const Meaning& m : flat) ids.push_back(as_value(m, region, at, "a repetition's result"));
  return placed(at, "the repetitions' results differ: ", [&] {
    return region.ref(region.builder.op("stack", ids, {{"axis", std::int64_t{0}}}));
  });
}

ir::ValueId as_value(const Meaning& value, Region& region, const Location& at, const std::string& what,
                     std::optional<Type> type) {
  if (const TensorRef* t = value.tensor()) return region.use(*t);
  if (value.stack()) return as_value(stacked(value, region, at), region, at, what, type);
  if (const Number* n = value.number()) {
    const Type natural = n->kind == Number::Kind::kBool  ? Type::kBool
                         : n->kind == Number::Kind::kInt ? Type::kInt32
                                                         : Type::kFloat;
    return placed(at, what + ": ", [&] { return region.builder.constant(n->value, type.value_or(natural)); });
  }
  if (const Dim* d = value.dim()) {
    return placed(at, what + ": ", [&] {
      const ir::ValueId id = region.builder.dim(*d);
      return type == Type::kFloat ? region.builder.cast(id, Type::kFloat) : id;
    });
  }
  fail("E0303 wrong-type", at, what + " must be a tensor, found " + value.describe());
}

Meaning apply_op(const std::string& name, std::vector<Meaning> operands, std::vector<std::pair<std::string, Meaning>> named,
                 const Location& at, Scope& scope) {
  Region& region = scope.instance->region();
  const ir::OpSchema& op = ir::OpRegistry::instance().get(name);
  for (Meaning& m : operands) m = stacked(m, region, at);
  for (auto& [key, m] : named) m = stacked(m, region, at);

  // Bundles: member by member; a plain tensor is combined with every member.
  const Members* shape = nullptr;
  for (const Meaning& m : operands) {
    const Members* b = m.bundle();
    if (!b) continue;
    if (shape && !std::equal(b->begin(), b->end(), shape->begin(), shape->end(),
                             [](const auto& x, const auto& y) { return x.first == y.first; })) {
      fail("E0236 bundles-differ", at, "the bundles differ: " + operands[0].describe() + " and " + m.describe());
    }
    shape = b;
  }
  if (shape) {
    Members out;
    const Members keys = *shape;
    for (const auto& [key, unused] : keys) {
      std::vector<Meaning> one;
      for (const Meaning& m : operands) one.push_back(m.bundle() ? select(m, key, at) : m);
      out.emplace_back(key, apply_op(name, std::move(one), named, at, scope));
    }
    return Meaning::bundle(std::move(out));
  }

  if (named.empty()) {
    if (const auto known = fold(name, operands, at)) return *known;
  }
  region.builder.set_location(at);
  region.builder.set_name(scope.stem);
  std::vector<ir::Operand> values;
  for (const Meaning& m : operands) values.push_back(as_operand(m, region, at));
  ir::NamedOperands keywords;
  for (const auto& [key, m] : named) {
    const ir::AttributeSpec* a = op.attribute(key);
    if (a && a->training_only && !scope.instance->expansion().training) continue;
    keywords.emplace_back(key, as_operand(m, region, at));
  }
  return placed(at, "", [&]() -> Meaning {
    if (op.random) {
      if (!scope.instance->expansion().training) {
        // Positional training-only attributes are dropped too: the remaining op changes nothing.
        values.resize(std::min(values.size(), op.inputs.size()));
        for (const ir::AttributeSpec& a : op.attributes) {
          if (a.training_only) keywords.emplace_back(a.name, Number{Number::Kind::kInt, 0});
        }
      }
      const bool keyed = std::any_of(named.begin(), named.end(), [](const auto& n) { return n.first == "key"; });
      if (!keyed) keywords.emplace_back("key", scope.stem + "#" + std::to_string(scope.draws++));
    }
    stop_at_present(op, values, keywords, region, at);
    const std::size_t before = region.graph.nodes.size();
    const std::vector<ir::ValueId> results = ir::apply(region.builder, op, values, keywords);
    check_present(region, before, at);
    scope.instance->expansion().budget.add_values(region, scope.instance->path(), at);
    // An op that its attributes make the identity (dropout at rate 0) adds no node.
    if (op.identity && region.graph.nodes.size() > before && op.identity(region.graph.nodes.back().attributes)) {
      return region.ref(region.graph.nodes.back().inputs[0]);
    }
    if (results.size() == 1 && op.outputs.size() == 1) return region.ref(results[0]);
    std::vector<Meaning> list;
    for (ir::ValueId id : results) list.push_back(region.ref(id));
    if (list.size() == 1) return list[0];
    return Meaning::list(std::move(list));
  });
}

namespace {

// step() and history(x) in the initial value of a scan's states, which is outside the scan and corresponds to its first step:
// 0, and a history of that one step.
Meaning at_first_step(Instance& i, const Expression& e, Scope& scope) {
  const Location at = i.at(e.at);
  Region& r = i.region();
  r.builder.set_location(at);
  if (e.text == "step") return r.ref(r.builder.constant(0, Type::kInt32));
  if (e.operands.size() != 1) fail("E0305 wrong-operands", at, "history(x) takes one value");
  const ir::ValueId x = as_value(i.evaluate(e.operands[0], scope), r, at, "history(x): x");
  r.builder.set_name(scope.stem);
  return r.ref(r.builder.op("expand", {x}, {{"axis", std::int64_t{0}}}));
}

Meaning call(Instance& i, const Expression& e, Scope& scope) {
  const Location at = i.at(e.at);
  if (!e.infix) {
    if (e.text == "next") {
      if (e.operands.size() != 1 || e.operands[0].kind != Expression::Kind::kName)
        fail("E0216 no-state", at, "next(…) takes the name of a state");
      return i.states().next(e.operands[0].path, at);
    }
    if (e.text == "step" || e.text == "history") {
      Region& r = i.region();
      if (i.first_step()) return at_first_step(i, e, scope);
      if (!r.parent) fail("E0237 no-scan", at, e.text + "(…) is not inside a scan");
      if (r.reverse) fail("E0238 reverse", at, e.text + "(…) has no meaning in a scan that runs in reverse");
      if (e.text == "step") return r.ref(r.step);
      if (e.operands.size() != 1) fail("E0305 wrong-operands", at, "history(x) takes one value");
      const ir::ValueId x = as_value(i.evaluate(e.operands[0], scope), r, at, "history(x): x");
      r.builder.set_location(at);
      r.builder.set_name(scope.stem);
      return r.ref(r.history_of(x, scope.instance->path(), i.expansion().root.graph));
    }
    const ir::OpSchema* op = ir::OpRegistry::instance().find(e.text);
    if (!op || op->internal) {
      if (const auto m = i.constant(e.text); m && m->graph()) return Meaning(i.graph_value(e, scope.index));
      fail("E0212 unknown-op", at, "no op is called '" + e.text + "'", {"help: " + ir::unknown_op_help(e.text, false)});
    }
  }
  Failure failure;
  std::vector<Meaning> operands;
  std::vector<std::pair<std::string, Meaning>> named;
  for (const Expression& o : e.operands) {
    try {
      operands.push_back(i.evaluate(o, scope));
    } catch (const Failure& f) {
      failure.add(f);
    }
  }
  for (const auto& [name, value, name_at] : e.keywords) {
    try {
      named.emplace_back(name, i.evaluate(value, scope));
    } catch (const Failure& f) {
      failure.add(f);
    }
  }
  if (!failure.why.empty()) {
    // The types are unknown, but the names and the number of operands can be checked.
    std::vector<std::string> names;
    for (const auto& [name, value, name_at] : e.keywords) names.push_back(name);
    try {
      placed(at, "", [&] { ir::check_call(ir::OpRegistry::instance().get(e.text), e.operands.size(), names); });
    } catch (const Failure& f) {
      failure.add(f);
    }
    throw failure;
  }
  return apply_op(e.text, std::move(operands), std::move(named), at, scope);
}

std::size_t whole_index(const Meaning& m, std::size_t size, const Location& at) {
  const Number* n = m.number();
  if (!n || n->value != std::floor(n->value))
    fail("E0312 bad-index", at, "the number of a repetition must be known at compile time, found " + m.describe());
  const double k = n->value < 0 ? n->value + static_cast<double>(size) : n->value;
  if (k < 0 || k >= static_cast<double>(size)) {
    fail("E0312 bad-index", at,
         "there are " + std::to_string(size) + " repetitions; no number " + std::to_string(static_cast<long long>(n->value)));
  }
  return static_cast<std::size_t>(k);
}

Dim position(const Meaning& m, const Dim& size, const Location& at) {
  const auto d = as_dim(m);
  if (!d)
    fail("E0312 bad-index", at, "a subscript must be a size or a whole number, found " + m.describe(),
         {"help: gather(x, i) and pick(x, i) take indices known at run time"});
  return d->is_constant() && d->constant() < 0 ? size + *d : *d;
}

Meaning subscript(Instance& i, Meaning value, const Expression& e, std::size_t from, Scope& scope) {
  const Location at = i.at(e.at);
  if (from == e.subscripts.size()) return value;
  if (const Members* members = value.bundle()) {
    Members out;
    for (const auto& [name, m] : *members) out.emplace_back(name, subscript(i, m, e, from, scope));
    return Meaning::bundle(std::move(out));
  }
  if (const std::vector<Meaning>* members = value.stack()) {
    const ir::Subscript& s = e.subscripts[from];
    if (!s.slice)
      return subscript(i, (*members)[whole_index(i.evaluate(*s.begin, scope), members->size(), at)], e, from + 1, scope);
    if (from + 1 == e.subscripts.size()) {
      const auto bound = [&](const std::optional<Expression>& b, std::size_t otherwise) {
        if (!b) return otherwise;
        const Meaning m = i.evaluate(*b, scope);
        const Number* n = m.number();
        const double k = n ? (n->value < 0 ? n->value + static_cast<double>(members->size()) : n->value) : -1;
        if (k < 0 || k > static_cast<double>(members->size()))
          fail("E0312 bad-index", at, "a bound outside of the repetitions");
        return static_cast<std::size_t>(k);
      };
      const std::size_t b = bound(s.begin, 0), n = bound(s.end, members->size());
      return Meaning::stack(
          {members->begin() + static_cast<std::ptrdiff_t>(b), members->begin() + static_cast<std::ptrdiff_t>(std::max(b, n))});
    }
    value = stacked(value, i.region(), at);
  }
  if (!value.tensor()) fail("E0312 bad-index", at, value.describe() + " has no axis to take a part of");
  Region& r = i.region();
  ir::ValueId x = r.use(*value.tensor());
  r.builder.set_location(at);
  r.builder.set_name(scope.stem);
  std::int64_t axis = 0;
  for (std::size_t k = from; k < e.subscripts.size(); ++k) {
    const ir::Subscript& s = e.subscripts[k];
    if (axis >= static_cast<std::int64_t>(r.type(x).shape.size())) {
      fail("E0312 bad-index", at,
           std::to_string(e.subscripts.size() - from) + " subscripts of a value " + r.type(r.use(*value.tensor())).str());
    }
    const Dim size = r.type(x).shape[static_cast<std::size_t>(axis)];
    std::vector<std::pair<std::string, Meaning>> named = {{"axis", Meaning::number(static_cast<double>(axis))}};
    if (!s.slice) {
      named.emplace_back("at", Meaning::size(position(i.evaluate(*s.begin, scope), size, at)));
      x = r.use(*apply_op("index", {r.ref(x)}, std::move(named), at, scope).tensor());
      continue;
    }
    const Dim begin = s.begin ? position(i.evaluate(*s.begin, scope), size, at) : Dim(0);
    const Dim end = s.end ? position(i.evaluate(*s.end, scope), size, at) : size;
    if (!(begin == Dim(0) && end == size)) {
      named.emplace_back("begin", Meaning::size(begin));
      named.emplace_back("end", Meaning::size(end));
      x = r.use(*apply_op("slice", {r.ref(x)}, std::move(named), at, scope).tensor());
    }
    ++axis;
  }
  return r.ref(x);
}

}  // namespace

Meaning Instance::evaluate(const Expression& e, Scope& scope) {
  Meaning m = evaluate_now(e, scope);
  if (expansion_.observed != nullptr && e.at.known() && expansion_.observed->size() < GraphRequest::kMostObservations) {
    const TensorRef* const t = m.tensor();
    expansion_.observed->push_back({at(e.at), t ? t->region->type(t->id).str() : m.describe()});
  }
  return m;
}

Meaning Instance::evaluate_now(const Expression& e, Scope& scope) {
  bound_recursion(expansion_, at(e.at));
  switch (e.kind) {
    case Expression::Kind::kNumber: return Number{e.integral ? Number::Kind::kInt : Number::Kind::kFloat, e.number};
    case Expression::Kind::kBool: return Meaning::truth(e.number != 0);
    case Expression::Kind::kWord: return e.text;
    case Expression::Kind::kName: return name(e, scope);
    case Expression::Kind::kGraph: return Meaning(graph_value(e, scope.index));
    case Expression::Kind::kCall: return call(*this, e, scope);
    case Expression::Kind::kList: {
      std::vector<Meaning> members;
      for (const Expression& o : e.operands) members.push_back(evaluate(o, scope));
      return Meaning::list(std::move(members));
    }
    case Expression::Kind::kChoice: {
      const Meaning condition = evaluate(e.operands[0], scope);
      const Number* n = condition.number();
      if (!n) {
        fail("E0215 run-time-choice", at(e.operands[0].at),
             "`if` chooses at compile time, but the condition is " + condition.describe(),
             {"help: where(condition, a, b) chooses at run time, element by element"});
      }
      return evaluate(e.operands[n->value != 0 ? 1 : 2], scope);
    }
    case Expression::Kind::kIndex: {
      Meaning value = evaluate(e.operands[0], scope);
      return subscript(*this, std::move(value), e, 0, scope);
    }
  }
  throw InternalError("evaluate: unknown kind of expression");
}

}  // namespace graphrun::frontend
