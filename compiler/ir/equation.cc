// Builder::equation: the equations in which ops define their gradients.
#include <mutex>

#include "compiler/ir/builder.h"
#include "compiler/ir/expression.h"
#include "compiler/ir/operand.h"

namespace graphrun::ir {
namespace {

using Names = std::vector<std::pair<std::string, ValueId>>;

// Equations are literals in the program, so there are few of them, and each is parsed once.
const Expression& parsed(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, Expression, std::less<>> known;
  const std::lock_guard lock(mutex);
  auto it = known.find(text);
  if (it == known.end()) it = known.emplace(std::string(text), parse_expression(SourceText(std::string(text)))).first;
  return it->second;
}

std::optional<double> fold(std::string_view op, const std::vector<Operand>& operands) {
  std::vector<double> x;
  for (const Operand& o : operands) {
    const Number* n = std::get_if<Number>(&o);
    if (!n) return std::nullopt;
    x.push_back(n->value);
  }
  if (x.size() == 1 && op == "neg") return -x[0];
  if (x.size() != 2) return std::nullopt;
  if (op == "add") return x[0] + x[1];
  if (op == "sub") return x[0] - x[1];
  if (op == "mul") return x[0] * x[1];
  if (op == "div") return x[0] / x[1];
  return std::nullopt;
}

Operand evaluate(Builder& b, const Expression& e, const Names& names) {
  switch (e.kind) {
    case Expression::Kind::kNumber: return Number{e.integral ? Number::Kind::kInt : Number::Kind::kFloat, e.number};
    case Expression::Kind::kBool: return Number{Number::Kind::kBool, e.number};
    case Expression::Kind::kWord: return e.text;
    case Expression::Kind::kName:
      for (const auto& [name, value] : names) {
        if (e.dotted() == name) return value;  // "read.h" is a single name
      }
      throw InternalError("equation: no value is called '" + e.dotted() + "'");
    case Expression::Kind::kCall: {
      std::vector<Operand> operands;
      for (const Expression& o : e.operands) operands.push_back(evaluate(b, o, names));
      if (const auto folded = fold(e.text, operands)) return Number{Number::Kind::kFloat, *folded};
      NamedOperands named;
      for (const auto& [name, value, name_at] : e.keywords) named.emplace_back(name, evaluate(b, value, names));
      return apply(b, OpRegistry::instance().get(e.text), operands, named).at(0);
    }
    default: throw InternalError("equation: only ops, names and numbers may stand in one");
  }
}

}  // namespace

ValueId Builder::equation(std::string_view text, const Names& names) {
  const Operand result = evaluate(*this, parsed(text), names);
  if (const ValueId* v = std::get_if<ValueId>(&result)) return *v;
  if (const Number* n = std::get_if<Number>(&result)) return constant(n->value, Type::kFloat);
  throw InternalError("equation '" + std::string(text) + "' gives no value");
}

}  // namespace graphrun::ir
