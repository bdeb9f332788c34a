// reshape and expand: the same elements under another shape. Both are views: nothing is computed.
#include <string>

#include "compiler/ir/sequence.h"
#include "ops/over_sequence.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

REGISTER_OP("reshape", "shape")
    .Doc(
        "The elements of x, in the same order, in another shape with the same number of elements.\n"
        "  x [batch, 512] -> y [batch, 8, 64]\n"
        "  let: \"heads = reshape(x, shape=[batch, heads, width / heads])\"")
    .Input("x", "[...]")
    .Required("shape", AttributeKind::kShape, "the shape of the result")
    .OverSequence([](ir::SequenceContext& c) {
      return c.again({c.sequence(0)}, {{"shape", c.with_steps(c.attributes.shape("shape"))}});
    })
    .Role(ir::Role::kReshape)
    .Access(ir::Access::kRearrange)
    .Output("y")
    .View()
    .Shape([](ir::InferContext& c) {
      const Shape& shape = c.attributes->shape("shape");
      const Dim from = element_count(c.input(0).shape), to = element_count(shape);
      if (from != to) {
        throw ir::OpError("E0301 shape-mismatch", "reshape: " + str(c.input(0).shape) + " has " + from.str() + " elements, " +
                                                      str(shape) + " has " + to.str());
      }
      c.outputs = {{c.input(0).type, shape}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs()) c.set(0, c.b.op("reshape", {c.g()}, {{"shape", Shape(c.shape(c.x()))}}));
    });

REGISTER_OP("expand", "shape")
    .Doc(
        "x with a new axis of size 1, which broadcasts.\n"
        "  x [..., ...] -> y [..., 1, ...]\n"
        "  let: \"context = sum(expand(weights, axis=-1) * memory, axis=0)\"")
    .Input("x", "[...]")
    .Required("axis", AttributeKind::kInt, "the position of the new axis in the result; -1: last")
    .OverSequence(over_leading_axes_with_axis())
    .Role(ir::Role::kExpand)
    .Access(ir::Access::kRearrange)
    .Output("y")
    .View()
    .Shape([](ir::InferContext& c) {
      Shape out = c.input(0).shape;
      out.insert(out.begin() + ir::resolve_axis(c.attributes->integer("axis"), out.size() + 1, "expand"), Dim(1));
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs()) c.set(0, c.b.op("reshape", {c.g()}, {{"shape", Shape(c.shape(c.x()))}}));
    });

}  // namespace
}  // namespace graphrun
