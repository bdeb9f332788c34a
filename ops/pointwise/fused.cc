// fused: a group of pointwise ops as one kernel, without intermediate tensors. Made by the pass `fuse`.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ir/pointwise_program.h"
#include "ops/schema.h"
#include "ops/tiles/row_reads.h"
#include "ops/tiles/tile_steps.h"

namespace graphrun {
namespace {

using ir::PointwiseProgram;

void infer_fused(ir::InferContext& c) {
  const PointwiseProgram& program = ir::program_of(*c.attributes);
  GRAPHRUN_CHECK(program.folds.empty(), "fused: its results are not reduced");
  const std::vector<ir::TensorType> inputs = operands_of_program(c, program.inputs());
  Shape shape;
  for (const ir::TensorType& type : inputs) {
    const std::optional<Shape> both = broadcast(shape, type.shape);
    GRAPHRUN_CHECK(both.has_value(), "fused: the inputs' shapes do not fit: " + str(shape) + " and " + str(type.shape));
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

// A row of an operand that is read by number may be read for several rows of the result, so the operand is never overwritten.
std::vector<std::pair<int, int>> in_place_pairs_of(const Attributes& attributes) {
  std::vector<std::pair<int, int>> pairs = ir::in_place_pairs(ir::program_of(attributes));
  const std::vector<std::int64_t>& rows = attributes.integers("rows");
  std::erase_if(pairs, [&](const auto& pair) { return !rows.empty() && rows[static_cast<std::size_t>(pair.second)] >= 0; });
  return pairs;
}

Kernel bind_fused(const KernelRequest& request) {
  ProgramWork work = program_work(request);
  return program_kernel(ir::program_of(*request.attributes), work.request, std::move(work.rows));
}

REGISTER_OP("fused", "pointwise")
    .Doc(
        "A program of pointwise ops over one shape, to which all inputs are broadcast. Each result has the same bits as if "
        "the\n"
        "ops ran one by one (except that a NaN may be another NaN).\n"
        "  fused(x, b; code=\"t0 = add(x0, x1); t1 = tanh(t0); return t1\")")
    .VariadicInput("x", "[...] of any type: x0, x1, … of the code; then, with `rows`, the list")
    .Required("code", AttributeKind::kProgram, "the instructions, and which of them are results")
    .Default("rows", AttributeKind::kInts, std::vector<std::int64_t>{}, kRowsDoc)
    .Role(ir::Role::kProgram)
    .Access(ir::Access::kElementwise)
    .Output("y")
    .Internal()
    .NoGradient("it is created after differentiation")
    .InPlace(in_place_pairs_of)
    .Shape(infer_fused);
REGISTER_KERNEL("fused", kCpu, bind_fused);

}  // namespace
}  // namespace graphrun
