#include "ops/tiles/tile_steps.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ops/tiles/cast.h"
#include "ops/tiles/table.h"
#include "ops/tiles/tiles.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

// The concrete type of FLOAT, taken from an operand.
Precision precision_of(const KernelRequest& request) {
  for (const std::vector<TensorView>* views : {&request.inputs, &request.outputs}) {
    for (const TensorView& v : *views) {
      if (v.dtype == DType::kFloat64) return Precision::kFloat64;
    }
  }
  return Precision::kFloat32;
}

std::size_t line_of(std::string_view op) {
  if (op == "cast") return kCastLine;
  const std::vector<PointwiseLine>& table = pointwise_table();
  for (std::size_t line = 0; line < table.size(); ++line) {
    if (table[line].name == op) return line;
  }
  throw InternalError("fused: no kernel of " + std::string(op));
}

// In additions: functions based on an exponential or a logarithm cost about eight.
int cost_of(const ir::OpSchema& op) { return op.promotion == ir::Promotion::kFloat ? 8 : 1; }

class StepMaker {
 public:
  explicit StepMaker(const KernelRequest& request) : request_(request), precision_(precision_of(request)) {}

  TileSteps steps(const PointwiseProgram& program) {
    std::vector<ir::TensorType> inputs;
    for (const TensorView& v : request_.inputs) inputs.push_back({type_of(v.dtype), {}});
    const std::vector<ir::TensorType> types = infer(program, inputs);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const PointwiseProgram::Instruction& made = program.instructions[i];
      const std::size_t first = steps_.size();
      ir::is_draw(*made.op) ? add_draw(made) : add(made, concrete(types[i].type, precision_));
      for (std::size_t s = first; s < steps_.size(); ++s) steps_[s].instruction = i;
      last_step_.push_back(steps_.size() - 1);
    }
    for (std::size_t r = 0; r < program.results.size(); ++r) {
      steps_[last_step_[program.results[r]]].result = static_cast<int>(r);
    }
    return {std::move(steps_), std::move(draws_)};
  }

 private:
  void add(const PointwiseProgram::Instruction& made, DType dtype) {
    std::vector<TileOperand> operands;
    for (const PointwiseProgram::Operand& o : made.operands) operands.push_back(operand(o));
    add_step(line_of(made.op->name), operands, dtype, cost_of(*made.op));
  }

  // where(kept, x / (1 - rate), 0); for a mask, with 1 in place of x.
  void add_draw(const PointwiseProgram::Instruction& made) {
    const Draw draw(made.rate, made.key);
    const auto at = std::find(draws_.begin(), draws_.end(), draw);
    const auto index = static_cast<std::size_t>(at - draws_.begin());
    if (at == draws_.end()) draws_.push_back(draw);
    const DType dtype = concrete(Type::kFloat, precision_);
    const auto number = [&](double x) { return TileOperand::constant(x, Type::kFloat); };
    TileOperand kept_value = number(1 / (1 - made.rate));
    if (made.op->name == "dropout") {
      add_step(line_of("mul"), {operand(made.operands[0]), kept_value}, dtype, 1);
      kept_value = TileOperand::instruction(steps_.size() - 1);
    }
    const TileOperand kept = TileOperand::input(request_.inputs.size() + index);
    add_step(line_of("where"), {kept, kept_value, number(0)}, dtype, 1);
  }

  void add_step(std::size_t line, const std::vector<TileOperand>& operands, DType dtype, int cost) {
    TileStep step;
    step.arity = static_cast<int>(operands.size());
    std::copy(operands.begin(), operands.end(), step.operands.begin());
    step.line = line;
    step.read = dtype_of_operand(operands.back());
    step.tile = line == kCastLine ? cast_tile(step.read, dtype) : pointwise_tile(line, step.read);
    step.dtype = dtype;
    step.cost = cost;
    steps_.push_back(step);
  }

  TileOperand operand(TileOperand o) const {
    if (o.kind == TileOperand::Kind::kInstruction) o.index = last_step_[o.index];
    return o;
  }

  DType dtype_of_operand(const TileOperand& o) const {
    if (o.kind == TileOperand::Kind::kInput) return request_.inputs[o.index].dtype;
    return o.kind == TileOperand::Kind::kInstruction ? steps_[o.index].dtype : concrete(o.type, precision_);
  }

  const KernelRequest& request_;
  const Precision precision_;
  std::vector<TileStep> steps_;
  std::vector<std::size_t> last_step_;  // by instruction
  std::vector<Draw> draws_;
};

}  // namespace

TileSteps tile_steps(const PointwiseProgram& program, const KernelRequest& request) {
  return StepMaker(request).steps(program);
}

Kernel program_kernel(const PointwiseProgram& program, const KernelRequest& request, RowReads rows) {
  return tile_kernel(std::make_shared<const TileProgram>(request.outputs.at(0).sizes, request.inputs,
                                                         tile_steps(program, request), TileProgram::Results::kWhole,
                                                         std::move(rows)));
}

}  // namespace graphrun
