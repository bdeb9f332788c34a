// The table (ops/tiles/table.def) as ops: each line yields a schema, a shape rule, a gradient and a CPU kernel.
#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "ops/over_sequence.h"
#include "ops/schema.h"
#include "ops/tiles/broadcast.h"
#include "ops/tiles/table.h"
#include "ops/tiles/tile_program.h"
#include "ops/tiles/tiles.h"
#include "runtime/threads/threads.h"

namespace graphrun {

const std::vector<PointwiseLine>& pointwise_table() {
#define UNARY(name, promotion, expression, dx, infix, doc) \
  PointwiseLine{#name, 1, ir::Promotion::promotion, #expression, {dx, "", ""}, infix, doc},
#define BINARY(name, promotion, expression, da, db, infix, doc) \
  PointwiseLine{#name, 2, ir::Promotion::promotion, #expression, {da, db, ""}, infix, doc},
#define TERNARY(name, promotion, expression, da, db, infix, doc) \
  PointwiseLine{#name, 3, ir::Promotion::promotion, #expression, {"", da, db}, infix, doc},
  static const std::vector<PointwiseLine> table = {
#include "ops/tiles/table.def"
  };
#undef UNARY
#undef BINARY
#undef TERNARY
  return table;
}

namespace {

std::string operands_of(const ir::InferContext& c) {
  std::string out;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == c.inputs.size() ? " and " : ", ") + c.input(i).str();
  }
  return out;
}

[[noreturn]] void wrong_type(const ir::InferContext& c, const char* expected) {
  throw ir::OpError(
      "E0303 wrong-type", c.op->name + " takes " + expected + ", found " + operands_of(c),
      "help: with a FLOAT operand, INT32 and BOOL become FLOAT; any other conversion is written cast(x, type='INT32')");
}

// Promotes the operands' types and returns the type of the result.
Type result_type(const ir::InferContext& c) {
  const Type last = c.inputs.back()->type;
  const std::size_t first = c.op->promotion == ir::Promotion::kSelect ? 1 : 0;
  bool equal = true;
  for (std::size_t i = first; i < c.inputs.size(); ++i) equal &= c.input(i).type == last;
  switch (c.op->promotion) {
    case ir::Promotion::kArithmetic:
      if (!equal || last == Type::kBool) wrong_type(c, "FLOAT or INT32");
      return last;
    case ir::Promotion::kFloat:
      if (!equal || last != Type::kFloat) wrong_type(c, "FLOAT");
      return Type::kFloat;
    case ir::Promotion::kCompare:
      if (!equal) wrong_type(c, "operands of one type");
      return Type::kBool;
    case ir::Promotion::kLogical:
      if (!equal || last != Type::kBool) wrong_type(c, "BOOL");
      return Type::kBool;
    case ir::Promotion::kSelect:
      if (!equal || c.input(0).type != Type::kBool) wrong_type(c, "a BOOL condition and two operands of one type");
      return last;
    case ir::Promotion::kNone: break;
  }
  throw InternalError(c.op->name + " has no rule for its types");
}

// What may have been meant by operands that do not broadcast.
std::string remedy(const ir::InferContext& c) {
  const std::string rule = "help: axes are matched from the last backwards; only a literal 1 broadcasts, never a symbol";
  if (c.inputs.size() != 2) return rule;
  const Shape &a = c.input(0).shape, &b = c.input(1).shape;
  if (c.op->name == "mul" && !a.empty() && b.size() == 2 && a.back() == b.front())
    return rule + "; x @ W is the matrix product";
  const auto lacks_last = [](const Shape& less, const Shape& more) {
    return more.size() == less.size() + 1 && std::equal(less.begin(), less.end(), more.begin());
  };
  if (lacks_last(a, b) || lacks_last(b, a)) return rule + "; expand(x, axis=-1) gives x a last axis of 1";
  return rule;
}

void infer(ir::InferContext& c) {
  const Type type = result_type(c);
  Shape shape = c.input(0).shape;
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    const std::optional<Shape> both = broadcast(shape, c.input(i).shape);
    if (!both) {
      throw ir::OpError("E0301 shape-mismatch", c.op->name + ": " + operands_of(c) + " do not fit", remedy(c));
    }
    shape = *both;
  }
  c.outputs = {{type, std::move(shape)}};
}

// Each operand's derivative, summed over the axes along which the operand was broadcast.
ir::GradientRule gradient(const PointwiseLine& line) {
  return [&line](ir::GradientContext& c) {
    std::vector<std::pair<std::string, ir::ValueId>> names = {{"y", c.y()}, {"g", c.g()}};
    for (int i = 0; i < line.arity; ++i) names.emplace_back(line.operand(i), c.x(static_cast<std::size_t>(i)));
    for (std::size_t i = 0; i < static_cast<std::size_t>(line.arity); ++i) {
      if (line.derivatives[i].empty() || !c.needs(i)) continue;
      const Shape shape = c.shape(c.x(i));  // a copy: adding nodes moves the values that hold the shapes
      c.set(i, c.b.sum_to(c.b.equation(line.derivatives[i], names), shape));
    }
  };
}

Kernel bind(std::size_t line, const KernelRequest& request) {
  const TensorView& result = request.outputs.at(0);
  const DType dtype = request.inputs.back().dtype;
  const PointwiseTile tile = pointwise_tile(line, dtype);
  GRAPHRUN_CHECK(tile != nullptr,
                 std::string(pointwise_table()[line].name) + " has no kernel for " + std::string(name_of(dtype)));
  const auto plan = std::make_shared<const BroadcastPlan>(result.sizes, request.inputs);
  const std::size_t bytes = size_of(result.dtype);
  TileStep step{tile, static_cast<int>(request.inputs.size()), {}, result.dtype, 0, 1};
  for (std::size_t i = 0; i < request.inputs.size(); ++i) step.operands[i].index = i;
  const auto shared = std::make_shared<const TileProgram>(result.sizes, request.inputs, TileSteps{{step}, {}});
  return {[plan, tile, bytes](const KernelContext& c) {
            std::array<const void*, BroadcastPlan::kMostOperands> in{};
            for (std::size_t i = 0; i < c.inputs.size(); ++i) in[i] = c.inputs[i].data;
            auto* out = static_cast<char*>(c.outputs[0].data);
            parallel_ranges(plan->count(), plan->grain(),
                            [&](std::int64_t begin, std::int64_t end) { plan->run(tile, in.data(), out, bytes, begin, end); });
          },
          0, TileProgram::by_columns(shared), TileProgram::by_rows(shared)};
}

std::string_view types_of(ir::Promotion promotion) {
  switch (promotion) {
    case ir::Promotion::kArithmetic: return "FLOAT or INT32";
    case ir::Promotion::kFloat: return "FLOAT";
    case ir::Promotion::kLogical: return "BOOL";
    default: return "of any type";
  }
}

std::string example(const PointwiseLine& line) {
  const std::string name(line.name), infix(line.infix);
  if (line.arity == 3) return name + "(condition, a, b)";
  if (line.arity == 2) return infix.empty() ? name + "(a, b)" : "a " + infix + " b";
  if (infix.empty()) return name + "(x)";
  return infix == "-" ? "-x" : infix + " x";
}

// Whether swapping the operands gives the same bits: not for minimum and maximum, which return the first of 0 and -0.
bool commutes(std::string_view expression) {
  for (std::string_view symmetric : {"a + b", "a * b", "a == b", "a != b", "a & b", "a | b"}) {
    if (expression == symmetric) return true;
  }
  return false;
}

// What passes know about a line in addition to its expression.
struct Known {
  ir::Role role = ir::Role::kNone;
  ir::Algebra algebra;
  std::vector<std::size_t> singular = {};  // OpSchema::singular
};

// For one operand, or for two equal ones.
constexpr ir::Algebra kInvolution = {{}, {}, {}, true, false, false}, kIdempotent = {{}, {}, {}, false, true, false},
                      kEven = {{}, {}, {}, false, false, true}, kIdempotentAndEven = {{}, {}, {}, false, true, true};

// For ops with two operands.
ir::Algebra neutral(std::optional<double> left, std::optional<double> right) { return {left, right, {}, false, false, false}; }
ir::Algebra with_zero(ir::Algebra algebra) {
  algebra.zero = true;
  return algebra;
}
ir::Algebra logical(double neutral, double absorbing) { return {neutral, neutral, absorbing, false, true, false}; }

const std::map<std::string_view, Known>& known_lines() {
  using ir::Role;
  static const std::map<std::string_view, Known> lines = {
      {"add", {Role::kAdd, neutral(0, 0)}},
      {"sub", {Role::kSubtract, neutral({}, 0)}},
      {"mul", {Role::kMultiply, neutral(1, 1)}},
      {"div", {Role::kNone, with_zero(neutral({}, 1)), {1}}},
      {"pow", {Role::kPower, neutral({}, 1), {0, 1}}},
      {"log", {Role::kNone, {}, {0}}},
      {"log1p", {Role::kNone, with_zero({}), {0}}},
      {"sqrt", {Role::kNone, with_zero({}), {0}}},
      {"rsqrt", {Role::kNone, {}, {0}}},
      {"neg", {Role::kNegate, with_zero(kInvolution)}},
      {"abs", {Role::kNone, with_zero(kIdempotentAndEven)}},
      {"relu", {Role::kNone, with_zero(kIdempotent)}},
      {"square", {Role::kNone, with_zero(kEven)}},
      {"sign", {Role::kNone, with_zero({})}},
      {"sin", {Role::kNone, with_zero({})}},
      {"tanh", {Role::kNone, with_zero({})}},
      {"erf", {Role::kNone, with_zero({})}},
      {"cos", {Role::kNone, kEven}},
      {"minimum", {Role::kMinimum, kIdempotent}},
      {"maximum", {Role::kNone, kIdempotent}},
      {"eq", {Role::kEqual, {}}},
      {"ne", {Role::kNotEqual, {}}},
      {"lt", {Role::kLess, {}}},
      {"not", {Role::kNot, kInvolution}},
      {"and", {Role::kNone, logical(1, 0)}},
      {"or", {Role::kNone, logical(0, 1)}},
      {"where", {Role::kSelect, {}}},
  };
  return lines;
}

OpDefinition definition(const PointwiseLine& line) {
  OpDefinition op{std::string(line.name), "pointwise"};
  op.Doc(std::string(line.doc) + ".\n  let: \"y = " + example(line) + "\"");
  for (int i = 0; i < line.arity; ++i) {
    const bool condition = line.arity == 3 && i == 0;
    op.Input(std::string(line.operand(i)), "[...] " + std::string(condition ? "BOOL" : types_of(line.promotion)));
  }
  op.Output("y").Shape(infer).Promote(line.promotion).Pointwise().OverSequence(over_broadcast_operands());
  op.Access(ir::Access::kElementwise);
  if (const auto known = known_lines().find(line.name); known != known_lines().end()) {
    op.Role(known->second.role).Algebra(known->second.algebra).Singular(known->second.singular);
  }
  if (commutes(line.expression)) op.Commutative();
  if (!line.infix.empty()) op.Infix(std::string(line.infix));
  const bool gives_bool = line.promotion == ir::Promotion::kCompare || line.promotion == ir::Promotion::kLogical;
  bool differentiable = false;
  for (std::string_view d : line.derivatives) differentiable |= !d.empty();
  if (differentiable) {
    op.Gradient(gradient(line));
  } else {
    op.NoGradient(gives_bool ? "the result is BOOL" : "the result is constant almost everywhere");
  }
  if (line.promotion != ir::Promotion::kCompare) {
    for (int i = line.arity == 3 ? 1 : 0; i < line.arity; ++i) op.InPlace(0, i);
  }
  return op;
}

const bool registered = [] {
  const std::vector<PointwiseLine>& table = pointwise_table();
  for (const auto& known : known_lines()) {
    const auto is_it = [&](const PointwiseLine& line) { return line.name == known.first; };
    GRAPHRUN_CHECK(std::any_of(table.begin(), table.end(), is_it),
                   "no pointwise op is called '" + std::string(known.first) + "'");
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    ir::OpRegistry::instance().add(definition(table[i]).schema());
    registered_kernels<DeviceKind::kCpu>().add(table[i].name, [i](const KernelRequest& request) { return bind(i, request); });
  }
  return true;
}();

}  // namespace
}  // namespace graphrun
