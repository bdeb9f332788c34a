#include "ops/pointwise/tile_steps.h"

#include <utility>

#include "ops/pointwise/cast.h"
#include "ops/pointwise/table.h"
#include "ops/pointwise/tiles.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

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

std::size_t line_of(const ir::OpSchema& op) {
  if (op.name == "cast") return kCastLine;
  const std::vector<PointwiseLine>& table = pointwise_table();
  for (std::size_t line = 0; line < table.size(); ++line) {
    if (table[line].name == op.name) return line;
  }
  throw InternalError("fused: no kernel of " + op.name);
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
    step.line = line_of(*made.op);
    step.read = dtype_of_operand(step.operands[made.operands.size() - 1]);
    step.tile = step.line == kCastLine ? cast_tile(step.read, dtype) : pointwise_tile(step.line, step.read);
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

}  // namespace

std::vector<TileStep> tile_steps(const PointwiseProgram& program, const KernelRequest& request) {
  return StepMaker(request).steps(program);
}

}  // namespace graphrun
