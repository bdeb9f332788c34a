// dropout and dropout_mask.
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/ir/pointwise_program.h"
#include "compiler/ir/sequence.h"
#include "ops/schema.h"
#include "ops/tiles/tile_steps.h"

namespace graphrun {
namespace {

// A program of this single instruction, so that it draws the same numbers alone as in a group.
template <bool mask>
Kernel bind_dropout(const KernelRequest& request) {
  ir::PointwiseProgram::Instruction draw;
  draw.op = ir::OpRegistry::instance().find(mask ? "dropout_mask" : "dropout");
  draw.operands = {ir::PointwiseProgram::Operand::input(0)};
  draw.rate = request.attributes->number("rate");
  draw.key = request.attributes->string("key");
  return program_kernel({{std::move(draw)}, {0}}, request);
}

void infer_dropout(ir::InferContext& c) {
  require_type(c, 0, Type::kFloat);
  const double rate = c.attributes->number("rate");
  if (!(rate >= 0 && rate < 1)) {
    throw ir::OpError("E0306 wrong-attribute",
                      c.op->name + ": rate must be at least 0 and below 1, found " + std::to_string(rate),
                      "help: rate is the share that is dropped, not the share that is kept");
  }
  c.outputs = {c.input(0)};
}

// The last axis enumerates the features of a row, and the other axes identify the row, as the steps of a scan do. A scalar has
// no axis: over a sequence it is a row with one feature, so that its steps identify rows, not features.
std::vector<ir::ValueId> draw_sequence(ir::SequenceContext& c) {
  if (c.rank(0) > 0) return c.again(c.all_sequences());
  const ir::ValueId rows = c.b.op("expand", {c.sequence(0)}, {{"axis", std::int64_t{-1}}});
  return {c.b.op("reshape", c.again({rows}), {{"shape", c.with_steps({})}})};
}

constexpr const char* kKeyDoc =
    "the name of the draw; equal names give equal draws; the compiler sets it from the equation's path";

REGISTER_OP("dropout", "random")
    .Doc(
        "For each element, y = x / (1 - rate) with probability 1 - rate, otherwise 0 (Srivastava et al. 2014, scaled in\n"
        "training, not in inference). In a scan's body every step draws again. A draw depends only on the seed, the training\n"
        "step, the key, the steps of the enclosing scans and the element's coordinates. Inference has no dropout.\n"
        "  let: \"x = dropout(gather(E, words), rate=0.5)\"")
    .Input("x", "[...] FLOAT")
    .Required("rate", AttributeKind::kFloat, "the fraction to drop, in [0, 1)")
    .TrainingOnly()
    .Identity([](const Attributes& a) { return a.number("rate") == 0; })
    .String("key", "", kKeyDoc)
    .OverSequence(draw_sequence)
    .Role(ir::Role::kDraw)
    .Access(ir::Access::kElementwise)
    .Output("y")
    .Random()
    .InPlace(0, 0)
    .Shape(infer_dropout)
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs(0)) return;
      c.set(0, c.b.op("dropout", {c.g()}, {{"rate", c.attributes.number("rate")}, {"key", c.attributes.string("key")}}));
    });
REGISTER_KERNEL("dropout", kCpu, bind_dropout<false>);

REGISTER_OP("dropout_mask", "random")
    .Doc(
        "The factors that dropout would apply to a value of x's shape: 1 / (1 - rate) or 0. Computed outside a scan, one mask\n"
        "serves all steps (Gal & Ghahramani 2016).\n"
        "  let: \"m = dropout_mask(zeros(shape=[batch, hidden]), rate=0.25)\"")
    .Input("x", "[...] FLOAT: only its shape is read")
    .Required("rate", AttributeKind::kFloat, "the fraction to drop, in [0, 1)")
    .TrainingOnly()
    .String("key", "", kKeyDoc)
    .OverSequence(draw_sequence)
    .Role(ir::Role::kDraw)
    .Access(ir::Access::kElementwise)
    .Output("y")
    .Random()
    .InPlace(0, 0)
    .Shape(infer_dropout)
    .NoGradient("the mask does not depend on x's elements");
REGISTER_KERNEL("dropout_mask", kCpu, bind_dropout<true>);

}  // namespace
}  // namespace graphrun
