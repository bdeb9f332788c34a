// pick, which selects one element of each row, and one_hot. Kernels: ops/index/moves.def.
#include "ops/over_sequence.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

REGISTER_OP("pick", "index")
    .Doc(
        "y[...] = x[..., i[...]]: one element of each row.\n"
        "  x [..., n], i [...] in [0, n) -> y [...]\n"
        "  let: \"score = pick(emissions, label)\"")
    .Input("x", "[..., n]")
    .Input("i", "[...] INT32: the position of the element in each row")
    .OverSequence(over_leading_axes())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_rank_at_least(c, 0, 1);
      ir::require_type(c, 1, Type::kInt32);
      Shape rows = c.input(0).shape;
      rows.pop_back();
      if (c.input(1).shape != rows) {
        throw ir::OpError("E0301 shape-mismatch",
                          "pick: i " + str(c.input(1).shape) + " does not fit x " + str(c.input(0).shape),
                          "help: there is one index for each row of x: " + str(rows));
      }
      c.outputs = {{c.input(0).type, std::move(rows)}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      const ir::ValueId i = c.b.op("expand", {c.x(1)}, {{"axis", std::int64_t{-1}}});
      const ir::ValueId g = c.b.op("expand", {c.g()}, {{"axis", std::int64_t{-1}}});
      c.set(0, c.b.op("scatter_last", {i, g}, {{"size", c.shape(c.x()).back()}}));
    });

REGISTER_OP("one_hot", "index")
    .Doc(
        "y[..., k] = 1 if k = i[...], otherwise 0; FLOAT.\n"
        "  i [...] in [0, depth) -> y [..., depth]\n"
        "  let: \"target = one_hot(label, depth=labels)\"")
    .Input("i", "[...] INT32")
    .Required("depth", AttributeKind::kDim, "the number of classes, which is the size of the result's last axis")
    .OverSequence(over_leading_axes())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_type(c, 0, Type::kInt32);
      Shape out = c.input(0).shape;
      out.push_back(c.attributes->dim("depth"));
      c.outputs = {{Type::kFloat, std::move(out)}};
    })
    .NoGradient("the operand is an integer");

}  // namespace
}  // namespace graphrun
