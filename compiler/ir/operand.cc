#include "compiler/ir/operand.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/foreign_names.h"

namespace graphrun::ir {
namespace {

bool whole(double x) { return std::isfinite(x) && x == std::floor(x) && std::abs(x) < 9e15; }

std::string describe(const Operand& o) {
  struct {
    std::string operator()(ValueId) const { return "a tensor"; }
    std::string operator()(const Number& n) const {
      if (n.kind == Number::Kind::kBool) return n.value != 0 ? "true" : "false";
      std::string s = std::to_string(n.value);
      while (s.back() == '0') s.pop_back();
      if (s.back() == '.') s.pop_back();
      return "the number " + s;
    }
    std::string operator()(const Dim& d) const { return "the size " + d.str(); }
    std::string operator()(const std::string& s) const { return "the word '" + s + "'"; }
    std::string operator()(const std::vector<Dim>& v) const { return "a list of " + std::to_string(v.size()); }
  } describer;
  return std::visit(describer, o);
}

[[noreturn]] void wrong_attribute(const OpSchema& op, const AttributeSpec& a, const std::string& wanted, const Operand& found) {
  throw OpError("E0306 wrong-attribute", op.name + ": " + a.name + " must be " + wanted + ", found " + describe(found),
                "help: " + a.name + ": " + a.doc);
}

Attribute to_attribute(const OpSchema& op, const AttributeSpec& spec, const Operand& o) {
  const Number* n = std::get_if<Number>(&o);
  const Dim* d = std::get_if<Dim>(&o);
  const bool fixed = d && d->is_constant(), is_number = n && n->kind != Number::Kind::kBool;
  switch (spec.kind) {
    case AttributeKind::kBool:
      if (n && (n->kind == Number::Kind::kBool || n->value == 0 || n->value == 1)) return n->value != 0;
      wrong_attribute(op, spec, "true or false", o);
    case AttributeKind::kInt:
      if (is_number && whole(n->value)) return static_cast<std::int64_t>(n->value);
      if (fixed) return d->constant();
      wrong_attribute(op, spec, "a whole number", o);
    case AttributeKind::kFloat:
      if (is_number) return n->value;
      if (fixed) return static_cast<double>(d->constant());
      wrong_attribute(op, spec, "a number known at compile time", o);
    case AttributeKind::kString:
      if (const std::string* s = std::get_if<std::string>(&o)) return *s;
      wrong_attribute(op, spec, "a word in quotes", o);
    case AttributeKind::kDim:
      if (is_number && whole(n->value)) return Dim(static_cast<std::int64_t>(n->value));
      if (d) return *d;
      wrong_attribute(op, spec, "a size: a whole number or an expression of sizes", o);
    case AttributeKind::kShape:
      if (const auto* v = std::get_if<std::vector<Dim>>(&o)) return Shape(*v);
      wrong_attribute(op, spec, "a list of sizes, such as [time, batch, 300]", o);
    case AttributeKind::kInts: {
      std::vector<std::int64_t> out;
      if (is_number && whole(n->value)) return std::vector<std::int64_t>{static_cast<std::int64_t>(n->value)};
      if (const auto* v = std::get_if<std::vector<Dim>>(&o)) {
        for (const Dim& x : *v) {
          if (!x.is_constant()) wrong_attribute(op, spec, "a list of whole numbers", o);
          out.push_back(x.constant());
        }
        return out;
      }
      wrong_attribute(op, spec, "a list of whole numbers", o);
    }
    case AttributeKind::kProgram: wrong_attribute(op, spec, "a program, which only the compiler writes", o);
  }
  throw InternalError("to_attribute: unknown kind");
}

// The type of a numeric constant, which depends on the tensors that it is combined with.
Type constant_type(const Number& n, Promotion promotion, bool meets_float) {
  switch (promotion) {
    case Promotion::kFloat: return Type::kFloat;
    case Promotion::kLogical: return Type::kBool;
    default: break;
  }
  if (n.kind == Number::Kind::kBool) return Type::kBool;
  if (n.kind == Number::Kind::kFloat || meets_float) return Type::kFloat;
  return Type::kInt32;
}

}  // namespace

std::string signature(const OpSchema& op) {
  std::string s = op.name + "(";
  bool first = true;
  const auto add = [&](const std::string& text) {
    s += (first ? "" : ", ") + text;
    first = false;
  };
  for (const InputSpec& i : op.inputs) add(i.name + (i.variadic ? ", …" : i.optional ? "?" : ""));
  for (const AttributeSpec& a : op.attributes) add(a.name + "=" + (a.default_value ? "…" : ""));
  return s + ")";
}

void check_call(const OpSchema& op, std::size_t operands, const std::vector<std::string>& names) {
  const std::size_t fixed = op.inputs.size() - (op.variadic() ? 1 : 0);
  if (!op.variadic() && operands > fixed + op.attributes.size()) {
    throw OpError("E0305 wrong-operands",
                  op.name + " takes " + counted(static_cast<std::int64_t>(op.inputs.size()), "operand") + ", found " +
                      std::to_string(operands),
                  "help: " + signature(op));
  }
  std::vector<std::string> given;
  for (std::size_t i = 0; i < std::min(operands, fixed); ++i) given.push_back(op.inputs[i].name);
  if (!op.variadic()) {
    for (std::size_t i = fixed; i < operands; ++i) given.push_back(op.attributes[i - fixed].name);
  }
  for (const std::string& name : names) {
    if (std::find(given.begin(), given.end(), name) != given.end())
      throw OpError("E0305 wrong-operands", op.name + ": " + name + " is given twice", "help: " + signature(op));
    given.push_back(name);
    const int k = op.input_index(name);
    if ((k >= 0 && static_cast<std::size_t>(k) < fixed) || op.attribute(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const AttributeSpec& a : op.attributes) known.push_back(a.name);
    for (const InputSpec& i : op.inputs) known.push_back(i.name);
    std::string hint = did_you_mean(name, known);
    if (const std::string_view here = here_attribute_is(op, name); !here.empty())
      hint = "it is called " + std::string(here) + ":";
    throw OpError("E0307 unknown-attribute", op.name + " has no attribute '" + name + "'",
                  "help: " + (hint.empty() ? "" : hint + " ") + signature(op));
  }
  std::vector<bool> inputs(op.variadic() ? std::max(operands, fixed) : fixed, false);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = i < operands || std::find(names.begin(), names.end(), op.inputs[i].name) != names.end();
  }
  check_inputs(op, inputs);
}

std::vector<ValueId> apply(Builder& builder, const OpSchema& op, const std::vector<Operand>& operands,
                           const NamedOperands& named) {
  std::vector<std::string> names;
  for (const auto& [name, operand] : named) names.push_back(name);
  check_call(op, operands.size(), names);
  const std::size_t fixed_inputs = op.inputs.size() - (op.variadic() ? 1 : 0);
  std::vector<const Operand*> inputs(fixed_inputs, nullptr);
  std::vector<std::pair<std::string, const Operand*>> attributes;
  std::size_t next_attribute = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i < fixed_inputs) {
      inputs[i] = &operands[i];
    } else if (op.variadic()) {
      inputs.push_back(&operands[i]);
    } else {
      attributes.emplace_back(op.attributes[next_attribute++].name, &operands[i]);
    }
  }
  for (const auto& [name, operand] : named) {
    if (const int k = op.input_index(name); k >= 0 && static_cast<std::size_t>(k) < fixed_inputs) {
      inputs[static_cast<std::size_t>(k)] = &operand;
    } else {
      attributes.emplace_back(name, &operand);
    }
  }

  NamedAttributes values;
  for (const auto& [name, operand] : attributes) values.emplace_back(name, to_attribute(op, *op.attribute(name), *operand));

  bool meets_float = false;
  for (const Operand* o : inputs) {
    if (!o) continue;
    if (const ValueId* v = std::get_if<ValueId>(o); v && *v != kNone) {
      meets_float |= builder.graph().type(*v).type == Type::kFloat;
    } else if (const Number* n = std::get_if<Number>(o)) {
      meets_float |= n->kind == Number::Kind::kFloat;
    }
  }
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) {
      ids.push_back(kNone);
      continue;
    }
    const Operand& o = *inputs[i];
    if (const ValueId* v = std::get_if<ValueId>(&o)) {
      ids.push_back(*v);
    } else if (const Number* n = std::get_if<Number>(&o)) {
      const bool condition = op.promotion == Promotion::kSelect && i == 0;
      ids.push_back(builder.constant(n->value, condition ? Type::kBool : constant_type(*n, op.promotion, meets_float)));
    } else if (const Dim* d = std::get_if<Dim>(&o)) {
      ids.push_back(builder.dim(*d));
    } else {
      throw OpError(
          "E0305 wrong-operands",
          op.name + ": " + op.inputs[std::min(i, op.inputs.size() - 1)].name + " must be a value, found " + describe(o),
          "help: " + signature(op));
    }
  }
  return builder.node(op, std::move(ids), values);
}

}  // namespace graphrun::ir
