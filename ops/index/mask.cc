// mask and last, which depend on where padding begins, and sequence_mask. Kernels: ops/index/moves.def.
#include "ops/over_sequence.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

REGISTER_OP("mask", "index")
    .Doc(
        "y = x at positions below `lengths` along axis, 0 (or false) at all others. It selects, so the contents of padding do\n"
        "not matter, even if they are not finite.\n"
        "  x [..., n, ...] -> y of x's shape\n"
        "  let: \"nll = mask(cross_entropy(logits, target), lengths=lengths, axis=0)\"")
    .Input("x", "[...]")
    .Input("lengths", kLengthsDoc)
    .Required("axis", AttributeKind::kInt, "the axis that is padded")
    .OverSequence(over_leading_axes_with_axis())
    .Output("y")
    .InPlace(0, 0)
    .Shape([](ir::InferContext& c) {
      ir::check_lengths(c, 0, 1, ir::resolve_axis(c.attributes->integer("axis"), c.input(0).shape.size(), "mask"));
      c.outputs = {c.input(0)};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs()) c.set(0, c.b.op("mask", {c.g(), c.x(1)}, {{"axis", c.attributes.integer("axis")}}));
    });

REGISTER_OP("last", "index")
    .Doc(
        "y = x at the last real position of axis, lengths - 1; 0 if the length is 0.\n"
        "  x [time, batch, ...], lengths [batch] -> y [batch, ...]\n"
        "  let: \"summary = last(forward.h, lengths=lengths)\"")
    .Input("x", "[...]")
    .Input("lengths", kLengthsDoc)
    .Int("axis", 0, "the axis of time")
    .OverSequence(over_leading_axes_with_axis())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), c.input(0).shape.size(), "last");
      ir::check_lengths(c, 0, 1, axis);
      Shape out = c.input(0).shape;
      out.erase(out.begin() + axis);
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      const Shape x = c.shape(c.x());
      const int axis = ir::resolve_axis(c.attributes.integer("axis"), x.size(), "last");
      c.set(0, c.b.op("last_gradient", {c.g(), c.x(1)},
                      {{"axis", static_cast<std::int64_t>(axis)}, {"size", x[static_cast<std::size_t>(axis)]}}));
    });

REGISTER_OP("last_gradient", "index")
    .Doc(
        "The gradient of last: g at position lengths - 1 of axis, 0 elsewhere.\n"
        "  g [batch, ...], lengths [batch] -> d_x [time, batch, ...]")
    .Input("g", "[...] FLOAT: the gradient of the result")
    .Input("lengths", "INT32: those of last")
    .Required("axis", AttributeKind::kInt, "the axis of time in the result")
    .Required("size", AttributeKind::kDim, "the size of that axis")
    .OverSequence(over_leading_axes_with_axis())
    .Output("d_x")
    .Internal()
    .Shape([](ir::InferContext& c) {
      Shape out = c.input(0).shape;
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size() + 1, "last_gradient");
      out.insert(out.begin() + axis, c.attributes->dim("size"));
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .NoGradient("it is the gradient of another op, and there are no second derivatives");

REGISTER_OP("sequence_mask", "index")
    .Doc(
        "y = true at positions below `lengths`, false at all others.\n"
        "  lengths [...] -> y [..., n, ...] BOOL, n at axis\n"
        "  let: \"real = sequence_mask(lengths, n=time)\"   # [time, batch]")
    .Input("lengths", "[...] INT32: the number of real positions")
    .Required("n", AttributeKind::kDim, "the number of positions")
    .Int("axis", 0, "the position of the new axis in the result")
    .OverSequence(over_leading_axes_with_axis())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_type(c, 0, Type::kInt32);
      Shape out = c.input(0).shape;
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size() + 1, "sequence_mask");
      out.insert(out.begin() + axis, c.attributes->dim("n"));
      c.outputs = {{Type::kBool, std::move(out)}};
    })
    .NoGradient("the operand is an integer");

}  // namespace
}  // namespace graphrun
