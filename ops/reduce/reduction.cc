#include "ops/reduce/reduction.h"

#include <algorithm>
#include <string>

#include "ops/over_sequence.h"

namespace graphrun {

AxisRange reduced_axes(const ir::OpSchema& op, const Attributes& attributes, std::size_t rank) {
  const std::vector<std::int64_t>& given = attributes.integers("axis");
  if (given.empty()) return {0, static_cast<int>(rank)};
  std::vector<int> axes;
  for (std::int64_t axis : given) axes.push_back(ir::resolve_axis(axis, rank, op.name));
  std::sort(axes.begin(), axes.end());
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1) {
      throw ir::OpError(
          "E0302 bad-axis",
          op.name + ": axes " + std::to_string(axes[i - 1]) + " and " + std::to_string(axes[i]) + " are not neighbors",
          "help: reduce over one of them, then over the other");
    }
  }
  return {axes.front(), axes.back() + 1};
}

namespace {

// Two values without lengths suggest that the user wants the pointwise op on pairs of elements.
[[noreturn]] void fail_of_two(const ir::OpSchema& op, const std::string& found) {
  const std::string of_two = op.name == "max"   ? "maximum(a, b)"
                             : op.name == "min" ? "minimum(a, b)"
                             : op.name == "sum" ? "a + b"
                                                : "";
  throw ir::OpError("E0305 wrong-operands",
                    op.name + " reduces one value, and its second operand is lengths, INT32; found " + found,
                    of_two.empty() ? "help: " + op.name + "(x, axis=-1) reduces the last axis"
                                   : "help: of two values, element by element, it is " + of_two + "; " + op.name +
                                         "(x, axis=-1) reduces the last axis of one");
}

}  // namespace

void infer_reduction(ir::InferContext& c, Type result) {
  const Shape& x = c.input(0).shape;
  const AxisRange axes = reduced_axes(*c.op, *c.attributes, x.size());
  if (c.has(1)) {
    const ir::TensorType& lengths = c.input(1);
    const bool along_none = c.attributes->integers("axis").empty();
    if (lengths.type != Type::kInt32 || (along_none && (lengths.shape.empty() || lengths.shape.size() >= x.size())))
      fail_of_two(*c.op, lengths.str());
    if (c.attributes->integers("axis").size() != 1) {
      throw ir::OpError("E0306 wrong-attribute", c.op->name + ": lengths count along one axis, and none is named",
                        "help: name it, for example axis=0");
    }
    ir::check_lengths(c, 0, 1, axes.first);
  }
  Shape out = x;
  out.erase(out.begin() + axes.first, out.begin() + axes.last);
  if (c.attributes->boolean("keep"))
    out.insert(out.begin() + axes.first, static_cast<std::size_t>(axes.last - axes.first), Dim(1));
  c.outputs = {{result, std::move(out)}};
}

AxisView reduced_view(const Attributes& attributes, const Sizes& sizes) {
  const auto rank = static_cast<int>(sizes.size());
  const std::vector<std::int64_t>& given = attributes.integers("axis");
  if (given.empty()) return view_axes(sizes, 0, rank);
  int first = rank, last = 0;
  for (std::int64_t axis : given) {
    const int a = static_cast<int>(axis < 0 ? axis + rank : axis);
    first = std::min(first, a), last = std::max(last, a + 1);
  }
  return view_axes(sizes, first, last);
}

ir::ValueId beside_operand(ir::GradientContext& c, ir::ValueId value) {
  const AxisRange axes = reduced_axes(c.op, c.attributes, c.shape(c.x()).size());
  // Leading axes need no reshape: broadcasting restores them.
  if (!c.attributes.boolean("keep") && axes.first > 0) {
    for (int axis = axes.first; axis < axes.last; ++axis) {
      value = c.b.op("expand", {value}, {{"axis", static_cast<std::int64_t>(axis)}});
    }
  }
  return value;
}

ir::ValueId real_positions(ir::GradientContext& c, ir::ValueId value) {
  if (c.inputs.size() < 2 || c.x(1) == ir::kNone) return value;
  const AxisRange axes = reduced_axes(c.op, c.attributes, c.shape(c.x()).size());
  return c.b.op("mask", {value, c.x(1)}, {{"axis", static_cast<std::int64_t>(axes.first)}});
}

ir::ValueId spread(ir::GradientContext& c, ir::ValueId value) {
  const Shape x = c.shape(c.x());
  value = beside_operand(c, value);
  if (c.shape(value) != x) value = c.b.op("broadcast_to", {value}, {{"shape", x}});
  return real_positions(c, value);
}

OpDefinition reduction(std::string name, std::string doc, std::string x) {
  OpDefinition op(std::move(name), "reduce");
  op.Access(ir::Access::kReduction)
      .Fold(ir::fold_named(op.schema().name))
      .Doc(std::move(doc))
      .Input("x", std::move(x))
      .OptionalInput("lengths", kLengthsDoc)
      .Default("axis", AttributeKind::kInts, std::vector<std::int64_t>{},
               "the axis to reduce, or a list of adjacent axes; absent: all axes")
      .Bool("keep", false, "true: reduced axes stay, with size 1")
      .OverSequence(over_leading_axes_with_axis())
      .Output("y");
  return op;
}

}  // namespace graphrun
