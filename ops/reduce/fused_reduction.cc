// fused_reduction: reduces pointwise results as they are computed, without storing them in a tensor. Made by the pass
// `fuse_reductions`.
#include <algorithm>
#include <memory>

#include "compiler/ir/pointwise_program.h"
#include "ops/reduce/piecewise.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/work_sizes.h"
#include "ops/schema.h"
#include "ops/tiles/tile_steps.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

// The shape of the pointwise results: all operands broadcast together.
Shape shape_of_work(const ir::InferContext& c) {
  Shape shape;
  for (const ir::TensorType* type : c.inputs) {
    const std::optional<Shape> both = broadcast(shape, type->shape);
    GRAPHRUN_CHECK(both.has_value(), "fused_reduction: shapes do not fit: " + str(shape) + " and " + str(type->shape));
    shape = *both;
  }
  return shape;
}

void infer_fused_reduction(ir::InferContext& c) {
  const PointwiseProgram& program = ir::program_of(*c.attributes);
  GRAPHRUN_CHECK(!program.folds.empty(), "fused_reduction: nothing is reduced");
  GRAPHRUN_CHECK(program.inputs() == c.inputs.size(), "fused_reduction: the code reads " + std::to_string(program.inputs()) +
                                                          " inputs, the node has " + std::to_string(c.inputs.size()));
  const Shape shape = shape_of_work(c);
  std::vector<ir::TensorType> inputs;
  bool tells_float = false;
  for (const ir::TensorType* type : c.inputs) inputs.push_back(*type), tells_float |= type->type == Type::kFloat;
  GRAPHRUN_CHECK(tells_float, "fused_reduction: no operand tells which float FLOAT is");
  const std::vector<ir::TensorType> types = infer(program, inputs);
  for (const ir::TensorType& type : types) {
    GRAPHRUN_CHECK(type.shape == shape, "fused_reduction: found " + type.str() + ", all must be " + str(shape));
  }
  const AxisRange axes = reduced_axes(*c.op, *c.attributes, shape.size());
  Shape left = shape;
  left.erase(left.begin() + axes.first, left.begin() + axes.last);
  for (const ir::Fold& fold : program.folds) {
    const ir::TensorType& reduced = types[program.results[fold.result]];
    GRAPHRUN_CHECK(reduced.type == Type::kFloat, "fused_reduction: only FLOAT is reduced, found " + reduced.str());
    c.outputs.push_back({ir::gives_position(fold.kind) ? Type::kInt32 : Type::kFloat, left});
  }
}

Kernel bind_fused_reduction(const KernelRequest& request) {
  const PointwiseProgram& program = ir::program_of(*request.attributes);
  const Sizes sizes = sizes_of_work(request);
  auto tiles =
      std::make_shared<const TileProgram>(sizes, request.inputs, tile_steps(program, request), TileProgram::Results::kPieces);
  const bool doubles =
      std::any_of(request.inputs.begin(), request.inputs.end(), [](const TensorView& v) { return v.dtype == DType::kFloat64; });
  return piecewise_kernel(request, std::move(tiles), reduced_view(*request.attributes, sizes), program.folds,
                          doubles ? DType::kFloat64 : DType::kFloat32, sizes.size());
}

REGISTER_OP("fused_reduction", "reduce")
    .Doc(
        "A program of pointwise ops over one shape, to which all inputs are broadcast. Its results are reduced along axes\n"
        "as they are computed, by the rules of sum, mean, max, min, logsumexp, argmax or argmin.\n"
        "  fused_reduction(a, T; axis=(1), code=\"t0 = add(x0, x1); return max(t0), argmax(t0)\")")
    .VariadicInput("x", "[...] of any type: x0, x1, … of the code")
    .Required("code", AttributeKind::kProgram, "the instructions, and which reductions of them are results")
    .Required("axis", AttributeKind::kInts, "the adjacent axes that are reduced")
    .Role(ir::Role::kReductionProgram)
    .Access(ir::Access::kReduction)
    .Output("y")
    .Internal()
    .NoGradient("it is created after differentiation")
    .Shape(infer_fused_reduction);
REGISTER_KERNEL("fused_reduction", kCpu, bind_fused_reduction);

}  // namespace
}  // namespace graphrun
