// fused: a group of pointwise ops as one kernel, without a tensor between them. The pass `fuse` makes it.
#include <algorithm>
#include <memory>
#include <optional>

#include "compiler/ir/pointwise_program.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/table.h"
#include "ops/pointwise/tile_program.h"
#include "ops/pointwise/tiles.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

void infer(ir::InferContext& c) {
  const PointwiseProgram program = ir::parse_program(c.attributes->string("code"));
  GRAPHRUN_CHECK(program.inputs() == c.inputs.size(), "fused: the code reads " + std::to_string(program.inputs()) +
                                                          " inputs, the node has " + std::to_string(c.inputs.size()));
  std::vector<ir::TensorType> inputs;
  Shape shape;
  for (const ir::TensorType* type : c.inputs) {
    inputs.push_back(*type);
    const std::optional<Shape> both = broadcast(shape, type->shape);
    GRAPHRUN_CHECK(both.has_value(), "fused: the inputs' shapes do not fit: " + str(shape) + " and " + str(type->shape));
    shape = *both;
  }
  const std::vector<ir::TensorType> types = infer(program, inputs);
  for (std::size_t i = 0; i < types.size(); ++i) {
    GRAPHRUN_CHECK(types[i].shape == shape,
                   "fused: t" + std::to_string(i) + " is " + types[i].str() + ", all must be " + str(shape));
  }
  for (std::size_t r : program.results) c.outputs.push_back(types[r]);
  const auto is_float = [](const ir::TensorType& type) { return type.type == Type::kFloat; };
  const auto any_float = [&](const std::vector<ir::TensorType>& of) { return std::any_of(of.begin(), of.end(), is_float); };
  GRAPHRUN_CHECK(!any_float(types) || any_float(inputs) || any_float(c.outputs),
                 "fused: FLOAT inside alone, so that no operand tells which float it is");
}

Type type_of(DType dtype) {
  switch (dtype) {
    case DType::kInt32: return Type::kInt32;
    case DType::kBool: return Type::kBool;
    default: return Type::kFloat;
  }
}

// Which float FLOAT is: an operand tells.
Precision precision_of(const KernelRequest& request) {
  for (const std::vector<TensorView>* views : {&request.inputs, &request.outputs}) {
    for (const TensorView& v : *views) {
      if (v.dtype == DType::kFloat64) return Precision::kFloat64;
    }
  }
  return Precision::kFloat32;
}

PointwiseTile tile_of(const PointwiseProgram::Instruction& made, DType operands) {
  if (made.op->name == "cast") return nullptr;
  const std::vector<PointwiseLine>& table = pointwise_table();
  for (std::size_t line = 0; line < table.size(); ++line) {
    if (table[line].name == made.op->name) return pointwise_tile(line, operands);
  }
  throw InternalError("fused: no kernel of " + made.op->name);
}

// In additions: functions that go through an exponential or a logarithm cost about as much as eight.
int cost_of(const ir::OpSchema& op) { return op.promotion == ir::Promotion::kFloat ? 8 : 1; }

class StepMaker {
 public:
  explicit StepMaker(const KernelRequest& request) : request_(request), precision_(precision_of(request)) {}

  std::vector<TileStep> steps(const PointwiseProgram& program) {
    std::vector<ir::TensorType> inputs;
    for (const TensorView& v : request_.inputs) inputs.push_back({type_of(v.dtype), {}});
    const std::vector<ir::TensorType> types = infer(program, inputs);
    for (std::size_t i = 0; i < types.size(); ++i) add(program.instructions[i], concrete(types[i].type, precision_));
    for (std::size_t r = 0; r < program.results.size(); ++r) steps_[program.results[r]].result = static_cast<int>(r);
    return std::move(steps_);
  }

 private:
  void add(const PointwiseProgram::Instruction& made, DType dtype) {
    TileStep step;
    step.arity = static_cast<int>(made.operands.size());
    for (std::size_t k = 0; k < made.operands.size(); ++k) step.operands[k] = operand(made.operands[k]);
    const DType read = dtype_of_operand(step.operands[made.operands.size() - 1]);
    step.tile = made.op->name == "cast" ? cast_tile(read, dtype) : tile_of(made, read);
    step.dtype = dtype;
    step.cost = cost_of(*made.op);
    steps_.push_back(step);
  }

  TileOperand operand(const PointwiseProgram::Operand& o) const {
    switch (o.kind) {
      case PointwiseProgram::Operand::Kind::kInput: return {TileOperand::Kind::kInput, o.index, 0, DType::kFloat32};
      case PointwiseProgram::Operand::Kind::kInstruction: return {TileOperand::Kind::kStep, o.index, 0, DType::kFloat32};
      case PointwiseProgram::Operand::Kind::kNumber: break;
    }
    return {TileOperand::Kind::kNumber, 0, o.number, concrete(o.type, precision_)};
  }

  DType dtype_of_operand(const TileOperand& o) const {
    if (o.kind == TileOperand::Kind::kInput) return request_.inputs[o.index].dtype;
    return o.kind == TileOperand::Kind::kStep ? steps_[o.index].dtype : o.dtype;
  }

  const KernelRequest& request_;
  const Precision precision_;
  std::vector<TileStep> steps_;
};

Kernel bind(const KernelRequest& request) {
  const PointwiseProgram program = ir::parse_program(request.attributes->string("code"));
  return tile_kernel(
      std::make_shared<const TileProgram>(request.outputs.at(0).sizes, request.inputs, StepMaker(request).steps(program)));
}

REGISTER_OP("fused", "pointwise")
    .Doc(
        "A program of pointwise ops over one shape, that of all inputs broadcast together. Each result is what its "
        "instruction\n"
        "gives, with the bits that the ops one by one would give.\n"
        "  fused(x, b; code=\"t0 = add(x0, x1); t1 = tanh(t0); return t1\")")
    .VariadicInput("x", "[...] of any type: x0, x1, … of the code")
    .Required("code", AttributeKind::kString, "the instructions, and which of them are results")
    .Output("y")
    .Internal()
    .NoGradient("made after differentiation")
    .InPlace([](const Attributes& a) { return ir::in_place_pairs(ir::parse_program(a.string("code"))); })
    .Shape(infer);
REGISTER_KERNEL("fused", kCpu, bind);

}  // namespace
}  // namespace graphrun
