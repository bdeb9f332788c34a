// fused_reduction: reduces pointwise results as they are computed, without storing them in a tensor. Made by the pass
// `fuse_reductions`.
#include <algorithm>
#include <memory>
#include <span>

#include "compiler/ir/pointwise_program.h"
#include "ops/reduce/piecewise.h"
#include "ops/reduce/reduced_work.h"
#include "ops/reduce/reduction.h"
#include "ops/schema.h"
#include "ops/tiles/tile_steps.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

// The shape of the pointwise results: all operands broadcast together.
Shape shape_of_work(std::span<const ir::TensorType> operands) {
  Shape shape;
  for (const ir::TensorType& type : operands) {
    const std::optional<Shape> both = broadcast(shape, type.shape);
    GRAPHRUN_CHECK(both.has_value(), "fused_reduction: shapes do not fit: " + str(shape) + " and " + str(type.shape));
    shape = *both;
  }
  return shape;
}

void infer_fused_reduction(ir::InferContext& c) {
  const PointwiseProgram& program = ir::program_of(*c.attributes);
  GRAPHRUN_CHECK(!program.folds.empty(), "fused_reduction: nothing is reduced");
  const bool has_lengths = c.attributes->boolean("lengths");
  const std::vector<ir::TensorType> inputs = operands_of_program(c, program.inputs(), has_lengths);
  const Shape shape = shape_of_work(inputs);
  GRAPHRUN_CHECK(
      std::any_of(inputs.begin(), inputs.end(), [](const ir::TensorType& type) { return type.type == Type::kFloat; }),
      "fused_reduction: no operand tells which float FLOAT is");
  const std::vector<ir::TensorType> types = infer(program, inputs);
  for (const ir::TensorType& type : types) {
    GRAPHRUN_CHECK(type.shape == shape, "fused_reduction: found " + type.str() + ", all must be " + str(shape));
  }
  const AxisRange axes = reduced_axes(*c.op, *c.attributes, shape.size());
  const std::vector<std::int64_t>& rows = c.attributes->integers("rows");
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto axis = rows[k] + static_cast<std::int64_t>(shape.size() - inputs[k].shape.size());
    GRAPHRUN_CHECK(rows[k] < 0 || axis < axes.first || axis >= axes.last, "fused_reduction: rows along a reduced axis");
  }
  Shape left = shape;
  left.erase(left.begin() + axes.first, left.begin() + axes.last);
  if (has_lengths) {
    const ir::TensorType& lengths = *c.inputs.back();
    const bool lead = lengths.type == Type::kInt32 && lengths.shape.size() < left.size() &&
                      std::equal(lengths.shape.begin(), lengths.shape.end(), left.begin());
    GRAPHRUN_CHECK(lead && axes.last == axes.first + 1, "fused_reduction: found lengths " + lengths.str() + " of " + str(left));
  }
  for (const ir::Fold& fold : program.folds) {
    const ir::TensorType& reduced = types[program.results[fold.result]];
    GRAPHRUN_CHECK(reduced.type == Type::kFloat, "fused_reduction: only FLOAT is reduced, found " + reduced.str());
    c.outputs.push_back({ir::gives_position(fold.kind) ? Type::kInt32 : Type::kFloat, left});
  }
}

Kernel bind_fused_reduction(const KernelRequest& request) {
  const PointwiseProgram& program = ir::program_of(*request.attributes);
  const ProgramWork work = work_of_reduction(request);
  const Sizes sizes = sizes_of_work(work);
  auto tiles = std::make_shared<const TileProgram>(sizes, work.request.inputs, tile_steps(program, work.request),
                                                   TileProgram::Results::kPieces, work.rows);
  const bool doubles =
      std::any_of(request.inputs.begin(), request.inputs.end(), [](const TensorView& v) { return v.dtype == DType::kFloat64; });
  return piecewise_kernel(request, std::move(tiles), reduced_view(*request.attributes, sizes), program.folds,
                          doubles ? DType::kFloat64 : DType::kFloat32, {sizes.size(), work.lengths});
}

REGISTER_OP("fused_reduction", "reduce")
    .Doc(
        "A program of pointwise ops over one shape, to which all inputs are broadcast. Its results are reduced along axes\n"
        "as they are computed, by the rules of sum, mean, max, min, logsumexp, argmax or argmin.\n"
        "  fused_reduction(a, T; axis=(1), code=\"t0 = add(x0, x1); return max(t0), argmax(t0)\")\n"
        "With `rows`, operands are read by row number, from a list that follows them. With `lengths`, the last input is "
        "INT32,\n"
        "the number of real positions along axis: positions at or beyond it do not count, and are not computed. Its\n"
        "shape is the first part of a result's, which has an axis more.")
    .VariadicInput("x", "[...] of any type: x0, x1, … of the code; then the list and the lengths, if there are any")
    .Required("code", AttributeKind::kProgram, "the instructions, and which reductions of them are results")
    .Required("axis", AttributeKind::kInts, "the adjacent axes that are reduced")
    .Bool("lengths", false, "true: the last input is lengths along the axis")
    .Default("rows", AttributeKind::kInts, std::vector<std::int64_t>{}, kRowsDoc)
    .Role(ir::Role::kReductionProgram)
    .Access(ir::Access::kReduction)
    .Output("y")
    .Internal()
    .NoGradient("it is created after differentiation")
    .Shape(infer_fused_reduction);
REGISTER_KERNEL("fused_reduction", kCpu, bind_fused_reduction);

}  // namespace
}  // namespace graphrun
