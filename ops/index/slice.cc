// slice and index, which read a part of an axis, and pad, which writes a part into zeros. Kernels: ops/index/moves.def.
#include <cstdint>
#include <string>

#include "ops/index/axis_part.h"
#include "ops/over_sequence.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

// Whether a < b for all values of the symbols; sizes are never negative.
bool surely_less(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  return difference.is_constant() && difference.constant() < 0;
}

// The range of an axis of x that slice and index select.
ir::Window part_taken(const Attributes& attributes, const Shape& x) {
  const auto axis = static_cast<std::size_t>(ir::resolve_axis(attributes.integer("axis"), x.size(), "slice"));
  const Dim& size = x[axis];
  if (attributes.has("at")) {
    const Dim at = from_start(attributes.dim("at"), size);
    return {axis, at, at + 1};
  }
  return {axis, from_start(attributes.dim("begin"), size), from_start(attributes.dim("end"), size)};
}

// The range of its result where pad puts x.
ir::Window place_in_padding(const Attributes& attributes, const Shape& x) {
  const auto axis = static_cast<std::size_t>(ir::resolve_axis(attributes.integer("axis"), x.size(), "pad"));
  const Dim& begin = attributes.dim("begin");
  return {axis, begin, begin + x[axis]};
}

REGISTER_OP("slice", "index")
    .Doc(
        "y = x at positions begin, …, end - 1 of axis. In equations: x[:n], x[1:], x[:, 2:5].\n"
        "  x [..., n, ...] -> y [..., end - begin, ...]\n"
        "  let: \"first = slice(x, axis=-1, begin=0, end=hidden)\"")
    .Input("x", "[...]")
    .Required("axis", AttributeKind::kInt, "the axis to slice")
    .Required("begin", AttributeKind::kDim, "the first position; a negative number counts from the end")
    .Required("end", AttributeKind::kDim, "one past the last position; a negative number counts from the end")
    .OverSequence(over_leading_axes_with_axis())
    .Role(ir::Role::kSlice)
    .Window(part_taken)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      Shape out = c.input(0).shape;
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size(), "slice");
      Dim& size = out[static_cast<std::size_t>(axis)];
      const Dim begin = from_start(c.attributes->dim("begin"), size), end = from_start(c.attributes->dim("end"), size);
      if (surely_less(begin, 0) || surely_less(size, end) || surely_less(end, begin)) {
        throw ir::OpError("E0306 wrong-attribute",
                          "slice: " + c.attributes->dim("begin").str() + ":" + c.attributes->dim("end").str() + " of axis " +
                              std::to_string(axis) + " of " + str(c.input(0).shape),
                          "help: 0 <= begin <= end <= " + size.str());
      }
      size = end - begin;
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      const Shape x = c.shape(c.x());
      const int axis = ir::resolve_axis(c.attributes.integer("axis"), x.size(), "slice");
      const Dim& size = x[static_cast<std::size_t>(axis)];
      c.set(0, c.b.op("pad", {c.g()},
                      {{"axis", static_cast<std::int64_t>(axis)},
                       {"begin", from_start(c.attributes.dim("begin"), size)},
                       {"size", size}}));
    });

REGISTER_OP("index", "index")
    .Doc(
        "y = x at one position of axis, without that axis. In equations: x[0], x[-1], x[:, k].\n"
        "  x [..., n, ...] -> y [..., ...]\n"
        "  let: \"top = index(layers.h, axis=0, at=-1)\"")
    .Input("x", "[...]")
    .Required("axis", AttributeKind::kInt, "the axis that is removed")
    .Required("at", AttributeKind::kDim, "the position; a negative number counts from the end")
    .OverSequence(over_leading_axes_with_axis())
    .Role(ir::Role::kIndex)
    .Window(part_taken)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      Shape out = c.input(0).shape;
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size(), "index");
      const Dim& size = out[static_cast<std::size_t>(axis)];
      const Dim at = from_start(c.attributes->dim("at"), size);
      if (surely_less(at, 0) || surely_less(size, at + 1)) {
        throw ir::OpError(
            "E0306 wrong-attribute",
            "index: position " + c.attributes->dim("at").str() + " of axis " + std::to_string(axis) + " of " + str(out),
            "help: 0 <= at < " + size.str() + ", or from the end");
      }
      out.erase(out.begin() + axis);
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      const Shape x = c.shape(c.x());
      const auto axis = static_cast<std::int64_t>(ir::resolve_axis(c.attributes.integer("axis"), x.size(), "index"));
      const Dim& size = x[static_cast<std::size_t>(axis)];
      const ir::ValueId g = c.b.op("expand", {c.g()}, {{"axis", axis}});
      c.set(0, c.b.op("pad", {g}, {{"axis", axis}, {"begin", from_start(c.attributes.dim("at"), size)}, {"size", size}}));
    });

REGISTER_OP("pad", "index")
    .Doc(
        "y = x at positions begin, begin + 1, … of axis, 0 elsewhere. The gradient of slice and index.\n"
        "  x [..., k, ...] -> y [..., size, ...]\n"
        "  let: \"shifted = pad(x, axis=0, begin=1, size=time + 1)\"")
    .Input("x", "[...]")
    .Required("axis", AttributeKind::kInt, "the axis to pad")
    .Required("begin", AttributeKind::kDim, "the position of x in the result")
    .Required("size", AttributeKind::kDim, "the size of the axis in the result")
    .OverSequence(over_leading_axes_with_axis())
    .Role(ir::Role::kPad)
    .Window(place_in_padding)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      Shape out = c.input(0).shape;
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size(), "pad");
      const Dim &begin = c.attributes->dim("begin"), &size = c.attributes->dim("size");
      Dim& n = out[static_cast<std::size_t>(axis)];
      if (surely_less(begin, 0) || surely_less(size, begin + n)) {
        throw ir::OpError("E0306 wrong-attribute",
                          "pad: " + n.str() + " positions from " + begin.str() + " on do not fit into " + size.str());
      }
      n = size;
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      const Shape x = c.shape(c.x());
      const auto axis = static_cast<std::int64_t>(ir::resolve_axis(c.attributes.integer("axis"), x.size(), "pad"));
      const Dim begin = c.attributes.dim("begin");
      c.set(0,
            c.b.op("slice", {c.g()}, {{"axis", axis}, {"begin", begin}, {"end", begin + x[static_cast<std::size_t>(axis)]}}));
    });

}  // namespace
}  // namespace graphrun
