#include "compiler/ir/builder.h"

#include <algorithm>

#include "compiler/ir/pointwise_program.h"

namespace graphrun::ir {
namespace {

Attribute coerced(const OpSchema& op, const AttributeSpec& spec, const Attribute& value) {
  const auto kind = static_cast<AttributeKind>(value.index());
  if (kind == spec.kind) return value;
  // Lossless conversions.
  if (const auto* n = std::get_if<std::int64_t>(&value)) {
    if (spec.kind == AttributeKind::kFloat) return static_cast<double>(*n);
    if (spec.kind == AttributeKind::kDim) return Dim(*n);
  }
  if (const auto* text = std::get_if<std::string>(&value); text && spec.kind == AttributeKind::kProgram) {
    return OpaqueValue(parse_program(*text));
  }
  throw InternalError(op.name + ": attribute " + spec.name + " has the wrong kind");
}

std::string arity_message(const OpSchema& op, std::size_t found) {
  std::string names;
  for (const InputSpec& i : op.inputs) names += (names.empty() ? "" : ", ") + i.name + (i.optional ? "?" : "");
  return op.name + " takes (" + names + "), found " + counted(static_cast<std::int64_t>(found), "operand");
}

}  // namespace

Attributes complete(const OpSchema& op, const NamedAttributes& given) {
  Attributes out;
  for (const auto& [name, value] : given) {
    const AttributeSpec* spec = op.attribute(name);
    if (!spec) throw InternalError(op.name + " has no attribute '" + name + "'");
    out.set(name, coerced(op, *spec, value));
  }
  for (const AttributeSpec& spec : op.attributes) {
    if (out.has(spec.name)) continue;
    if (!spec.default_value) {
      throw OpError("E0308 missing-attribute", op.name + " needs the attribute '" + spec.name + "'",
                    "help: " + spec.name + ": " + spec.doc);
    }
    out.set(spec.name, coerced(op, spec, *spec.default_value));
  }
  return out;
}

Builder::Builder(Graph& graph) : graph_(&graph) {
  for (const Value& v : graph.values) names_.emplace(v.name, 0);
}

std::string Builder::unique(std::string stem) {
  if (stem.empty()) stem = "v";
  const auto [it, fresh] = names_.emplace(stem, 0);
  if (fresh) return stem;
  std::string candidate;
  int& count = it->second;  // references into an unordered_map stay valid after insertions
  do {
    candidate = stem + "." + std::to_string(++count);
  } while (!names_.emplace(candidate, 0).second);
  return candidate;
}

ValueId Builder::input(std::string name, TensorType type) {
  const ValueId id = value(std::move(name), std::move(type));
  graph_->inputs.push_back({id, std::nullopt, std::nullopt});
  return id;
}

ValueId Builder::value(std::string name, TensorType type) {
  const auto id = static_cast<ValueId>(graph_->values.size());
  graph_->values.push_back({unique(std::move(name)), std::move(type), -1, 0});
  return id;
}

ValueId Builder::variable(std::string name, TensorType type, Variable variable) {
  if (!names_.emplace(name, 0).second) {
    // A variable keeps its own name: another value with the same name gets a new one.
    const auto of_graph = [&](ValueId v) {
      return std::any_of(graph_->inputs.begin(), graph_->inputs.end(), [&](const Input& i) { return i.value == v; }) ||
             std::any_of(graph_->variables.begin(), graph_->variables.end(), [&](const Variable& w) { return w.value == v; });
    };
    for (std::size_t v = 0; v < graph_->values.size(); ++v) {
      if (graph_->values[v].name != name) continue;
      GRAPHRUN_CHECK(!of_graph(static_cast<ValueId>(v)), "two variables are called '" + name + "'");
      graph_->values[v].name = unique(name);
    }
  }
  const auto id = static_cast<ValueId>(graph_->values.size());
  graph_->values.push_back({std::move(name), std::move(type), -1, 0});
  variable.value = id;
  graph_->variables.push_back(std::move(variable));
  return id;
}

std::vector<ValueId> Builder::append(Node node, const std::vector<TensorType>& types, const std::vector<std::string>& names) {
  const auto index = static_cast<std::int32_t>(graph_->nodes.size());
  node.outputs.clear();
  for (std::size_t i = 0; i < types.size(); ++i) {
    node.outputs.push_back(static_cast<ValueId>(graph_->values.size()));
    graph_->values.push_back({unique(i < names.size() ? names[i] : name_), types[i], index, static_cast<std::int32_t>(i)});
  }
  std::vector<ValueId> outputs = node.outputs;
  graph_->nodes.push_back(std::move(node));
  return outputs;
}

void check_inputs(const OpSchema& op, const std::vector<bool>& given) {
  const std::size_t fixed = op.inputs.size() - (op.variadic() ? 1 : 0);
  if (given.size() > fixed && !op.variadic()) throw OpError("E0305 wrong-operands", arity_message(op, given.size()));
  for (std::size_t i = 0; i < fixed; ++i) {
    if (!given[i] && !op.inputs[i].optional) {
      throw OpError("E0305 wrong-operands", op.name + " needs the operand '" + op.inputs[i].name + "'",
                    "help: " + op.inputs[i].name + ": " + op.inputs[i].doc);
    }
  }
  if (op.variadic() && given.size() == fixed && !op.inputs.back().optional) {
    throw OpError("E0305 wrong-operands", op.name + " needs at least one '" + op.inputs.back().name + "'");
  }
}

std::vector<ValueId> Builder::node(const OpSchema& op, std::vector<ValueId> inputs, const NamedAttributes& attributes) {
  const std::size_t fixed = op.inputs.size() - (op.variadic() ? 1 : 0);
  if (inputs.size() < fixed) inputs.resize(fixed, kNone);
  std::vector<bool> given;
  for (const ValueId v : inputs) given.push_back(v != kNone);
  check_inputs(op, given);

  if (op.promotion != Promotion::kNone && op.promotion != Promotion::kLogical) {
    const std::size_t first = op.promotion == Promotion::kSelect ? 1 : 0;
    bool any_float = op.promotion == Promotion::kFloat;
    for (std::size_t i = first; i < inputs.size(); ++i) {
      any_float |= inputs[i] != kNone && graph_->type(inputs[i]).type == Type::kFloat;
    }
    for (std::size_t i = first; any_float && i < inputs.size(); ++i) {
      if (inputs[i] != kNone) inputs[i] = cast(inputs[i], Type::kFloat);
    }
  }

  Node node;
  node.op = &op;
  node.attributes = complete(op, attributes);
  InferContext c;
  c.op = &op;
  c.attributes = &node.attributes;
  for (ValueId v : inputs) c.inputs.push_back(v == kNone ? nullptr : &graph_->type(v));
  op.infer(c);
  node.inputs = std::move(inputs);
  node.at = at_;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < c.outputs.size(); ++i) names.push_back(name_);
  return append(std::move(node), c.outputs, names);
}

ValueId Builder::op(std::string_view name, std::vector<ValueId> inputs, const NamedAttributes& attributes) {
  std::vector<ValueId> out = ops(name, std::move(inputs), attributes);
  return out.at(0);
}

std::vector<ValueId> Builder::ops(std::string_view name, std::vector<ValueId> inputs, const NamedAttributes& attributes) {
  return node(OpRegistry::instance().get(name), std::move(inputs), attributes);
}

ValueId Builder::constant(double value, Type type) {
  const auto [it, fresh] = constants_.emplace(std::pair(value, static_cast<int>(type)), kNone);
  if (fresh) it->second = op("constant", {}, {{"value", value}, {"type", std::string(name_of(type))}});
  return it->second;
}

ValueId Builder::zeros(const TensorType& type) {
  return op("zeros", {}, {{"shape", type.shape}, {"type", std::string(name_of(type.type))}});
}

ValueId Builder::cast(ValueId value, Type type) {
  if (graph_->type(value).type == type) return value;
  if (type == Type::kFloat) {
    if (const std::optional<double> x = number(*graph_, value)) return constant(*x, type);
  }
  return op("cast", {value}, {{"type", std::string(name_of(type))}});
}

ValueId Builder::dim(const Dim& dim) {
  if (dim.is_constant()) return constant(static_cast<double>(dim.constant()), Type::kInt32);
  return op("dim", {}, {{"size", dim}});
}

ValueId Builder::sum_to(ValueId value, const Shape& shape) {
  if (graph_->type(value).shape == shape) return value;
  return op("sum_to", {value}, {{"shape", shape}});
}

std::vector<ValueId> Builder::scan(std::vector<ValueId> inputs, Graph body, std::size_t states, std::size_t each,
                                   const Dim& steps, bool reverse) {
  Node node;
  node.op = &OpRegistry::instance().get("scan");
  node.inputs = std::move(inputs);
  node.attributes.set("states", static_cast<std::int64_t>(states));
  node.attributes.set("each", static_cast<std::int64_t>(each));
  node.attributes.set("steps", steps);
  node.attributes.set("reverse", reverse);
  node.at = at_;
  std::vector<TensorType> types;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < body.outputs.size(); ++i) {
    TensorType type = body.type(body.outputs[i].value);
    if (i >= states) type.shape.insert(type.shape.begin(), steps);
    types.push_back(std::move(type));
    names.push_back(name_.empty() ? body.outputs[i].name : name_ + "." + body.outputs[i].name);
  }
  node.regions.push_back(std::move(body));
  return append(std::move(node), types, names);
}

}  // namespace graphrun::ir
