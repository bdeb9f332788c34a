#include "compiler/ir/op.h"

#include <cmath>

namespace graphrun::ir {

bool is_within(Range range, double value) {
  switch (range) {
    case Range::kAny: return true;
    case Range::kPositive: return value > 0 && std::isfinite(value);
    case Range::kNotNegative: return value >= 0 && std::isfinite(value);
    case Range::kBelowOne: return value >= 0 && value < 1;
  }
  return true;
}

std::string_view expected_of(Range range) {
  switch (range) {
    case Range::kAny: return "a number";
    case Range::kPositive: return "a finite number above 0";
    case Range::kNotNegative: return "a finite number from 0";
    case Range::kBelowOne: return "a number from 0 to below 1";
  }
  return "";
}

int OpSchema::input_index(std::string_view n) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == n) return static_cast<int>(i);
  }
  return -1;
}

const AttributeSpec* OpSchema::attribute(std::string_view n) const {
  for (const AttributeSpec& a : attributes) {
    if (a.name == n) return &a;
  }
  return nullptr;
}

OpRegistry& OpRegistry::instance() {
  static OpRegistry registry;
  return registry;
}

void OpRegistry::add(OpSchema schema) {
  const std::string name = schema.name;
  if (!ops_.emplace(name, std::move(schema)).second) throw InternalError("op '" + name + "' is registered twice");
}

const OpSchema* OpRegistry::find(std::string_view name) const {
  const auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : &it->second;
}

const OpSchema& OpRegistry::get(std::string_view name) const {
  const OpSchema* op = find(name);
  if (!op) throw InternalError("no op '" + std::string(name) + "' is registered");
  return *op;
}

std::vector<const OpSchema*> OpRegistry::all() const {
  std::vector<const OpSchema*> out;
  for (const auto& [name, op] : ops_) out.push_back(&op);
  return out;
}

int resolve_axis(std::int64_t axis, std::size_t rank, std::string_view what) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) {
    throw OpError("E0302 bad-axis",
                  std::string(what) + ": axis " + std::to_string(axis) + " of a value with " + std::to_string(rank) +
                      (rank == 1 ? " axis" : " axes"),
                  rank == 0 ? "help: a scalar has no axis"
                            : "help: axes run from 0 to " + std::to_string(r - 1) + ", or from the end: -1 is the last");
  }
  return static_cast<int>(axis < 0 ? axis + r : axis);
}

void check_lengths(const InferContext& c, std::size_t x, std::size_t lengths, int axis) {
  if (!c.has(lengths)) return;
  const TensorType& l = c.input(lengths);
  if (l.type != Type::kInt32) {
    throw OpError("E0303 wrong-type", c.op->name + ": lengths must be INT32, found " + l.str());
  }
  Shape rest = c.input(x).shape;
  rest.erase(rest.begin() + axis);
  const bool fits = l.shape.size() <= rest.size() && std::equal(l.shape.begin(), l.shape.end(), rest.begin());
  if (!fits) {
    throw OpError("E0301 shape-mismatch",
                  c.op->name + ": lengths " + str(l.shape) + " do not fit " + str(c.input(x).shape) + " along axis " +
                      std::to_string(axis),
                  "help: lengths has the first axes of the value without that one: " + str(rest) + ", or fewer");
  }
}

void require_type(const InferContext& c, std::size_t input, Type type) {
  if (c.has(input) && c.input(input).type != type) {
    const std::string& name = c.op->inputs[std::min(input, c.op->inputs.size() - 1)].name;
    throw OpError("E0303 wrong-type",
                  c.op->name + ": " + name + " must be " + std::string(name_of(type)) + ", found " + c.input(input).str(),
                  "help: cast(x, type='" + std::string(name_of(type)) + "') changes a type");
  }
}

void require_rank_at_least(const InferContext& c, std::size_t input, std::size_t rank) {
  if (c.has(input) && c.input(input).shape.size() < rank) {
    const std::string& name = c.op->inputs[std::min(input, c.op->inputs.size() - 1)].name;
    throw OpError("E0304 wrong-rank", c.op->name + ": " + name + " needs at least " + std::to_string(rank) +
                                          (rank == 1 ? " axis" : " axes") + ", found " + c.input(input).str());
  }
}

}  // namespace graphrun::ir
