// fused: a group of pointwise ops as one kernel, without intermediate tensors. Made by the pass `fuse`.
#include <algorithm>
#include <memory>
#include <optional>

#include "compiler/ir/pointwise_program.h"
#include "ops/schema.h"
#include "ops/tiles/tile_steps.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

void infer_fused(ir::InferContext& c) {
  const PointwiseProgram& program = ir::program_of(*c.attributes);
  GRAPHRUN_CHECK(program.folds.empty(), "fused: its results are not reduced");
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

Kernel bind_fused(const KernelRequest& request) { return program_kernel(ir::program_of(*request.attributes), request); }

REGISTER_OP("fused", "pointwise")
    .Doc(
        "A program of pointwise ops over one shape, to which all inputs are broadcast. Each result has the same bits as if "
        "the\n"
        "ops ran one by one (except that a NaN may be another NaN).\n"
        "  fused(x, b; code=\"t0 = add(x0, x1); t1 = tanh(t0); return t1\")")
    .VariadicInput("x", "[...] of any type: x0, x1, … of the code")
    .Required("code", AttributeKind::kProgram, "the instructions, and which of them are results")
    .Role(ir::Role::kProgram)
    .Access(ir::Access::kElementwise)
    .Output("y")
    .Internal()
    .NoGradient("it is created after differentiation")
    .InPlace([](const Attributes& a) { return ir::in_place_pairs(ir::program_of(a)); })
    .Shape(infer_fused);
REGISTER_KERNEL("fused", kCpu, bind_fused);

}  // namespace
}  // namespace graphrun
