// concat, stack and split.
#include <cstdint>
#include <string>

#include "ops/axis.h"
#include "ops/over_sequence.h"
#include "ops/schema.h"
#include "ops/shape/join.h"

namespace graphrun {
namespace {

Kernel joining(PartLayout layout) {
  return Kernel{[layout = std::move(layout)](const KernelContext& c) {
    for (std::size_t i = 0; i < layout.parts.size(); ++i) {
      over_part(layout, i, c.outputs[0].as<char>(), c.inputs[i].as<char>(),
                [](char* whole, const char* part, std::size_t bytes) { std::memcpy(whole, part, bytes); });
    }
  }};
}

// Checks that all operands have the type of the first; reports the first one that does not.
void require_one_type(const ir::InferContext& c) {
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    if (c.input(i).type != c.input(0).type) {
      throw ir::OpError(
          "E0303 wrong-type",
          c.op->name + ": operand " + std::to_string(i + 1) + " is " + c.input(i).str() + ", the first is " + c.input(0).str(),
          "help: cast(x, type='" + std::string(name_of(c.input(0).type)) + "') changes a type");
    }
  }
}

REGISTER_OP("concat", "shape")
    .Doc(
        "y = the operands concatenated along axis.\n"
        "  xs [..., n1, ...], [..., n2, ...], … -> y [..., n1 + n2 + …, ...]\n"
        "  let: \"annotations = concat(forward.h, backward.h, axis=-1)\"")
    .VariadicInput("xs", "[...]: of one type, with equal sizes except along axis")
    .Required("axis", AttributeKind::kInt, "the axis along which to concatenate")
    .OverSequence(over_leading_axes_with_axis())
    .Role(ir::Role::kConcat)
    .Access(ir::Access::kRearrange)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      require_one_type(c);
      Shape out = c.input(0).shape;
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size(), "concat");
      const auto at = static_cast<std::size_t>(axis);
      for (std::size_t i = 1; i < c.inputs.size(); ++i) {
        const Shape& x = c.input(i).shape;
        bool fits = x.size() == out.size();
        for (std::size_t k = 0; fits && k < x.size(); ++k) fits = k == at || x[k] == out[k];
        if (!fits) {
          throw ir::OpError(
              "E0301 shape-mismatch",
              "concat: operand " + std::to_string(i + 1) + " is " + str(x) + ", the first is " + str(c.input(0).shape),
              "help: they may differ in axis " + std::to_string(axis) + " alone");
        }
        out[at] = out[at] + x[at];
      }
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .Gradient([](ir::GradientContext& c) {
      const auto axis =
          static_cast<std::size_t>(ir::resolve_axis(c.attributes.integer("axis"), c.shape(c.x()).size(), "concat"));
      Dim begin = 0;
      for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        const Dim end = begin + c.shape(c.x(i))[axis];
        if (c.needs(i)) {
          c.set(i, c.b.op("slice", {c.g()}, {{"axis", static_cast<std::int64_t>(axis)}, {"begin", begin}, {"end", end}}));
        }
        begin = end;
      }
    });
REGISTER_KERNEL("concat", kCpu, [](const KernelRequest& request) {
  const Sizes& sizes = request.outputs[0].sizes;
  const int axis = ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "concat");
  return joining(layout_of(sizes, axis, request.inputs, false));
});

REGISTER_OP("stack", "shape")
    .Doc(
        "y = the operands stacked along a new axis.\n"
        "  xs [...], [...], … (k of them) -> y [..., k, ...]\n"
        "  let: \"choices = stack(state, word, context)\"   # [3, batch, hidden]")
    .VariadicInput("xs", "[...]: of one type and shape")
    .Int("axis", 0, "the position of the new axis in the result")
    .OverSequence(over_leading_axes_with_axis())
    .Role(ir::Role::kStack)
    .Access(ir::Access::kRearrange)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      require_one_type(c);
      Shape out = c.input(0).shape;
      for (std::size_t i = 1; i < c.inputs.size(); ++i) {
        if (c.input(i).shape != out) {
          throw ir::OpError("E0301 shape-mismatch", "stack: operand " + std::to_string(i + 1) + " is " + str(c.input(i).shape) +
                                                        ", the first is " + str(out));
        }
      }
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size() + 1, "stack");
      out.insert(out.begin() + axis, Dim(static_cast<std::int64_t>(c.inputs.size())));
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .Gradient([](ir::GradientContext& c) {
      for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        if (!c.needs(i)) continue;
        c.set(i, c.b.op("index", {c.g()}, {{"axis", c.attributes.integer("axis")}, {"at", Dim(static_cast<std::int64_t>(i))}}));
      }
    });
REGISTER_KERNEL("stack", kCpu, [](const KernelRequest& request) {
  const Sizes& sizes = request.outputs[0].sizes;
  const int axis = ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "stack");
  return joining(layout_of(sizes, axis, request.inputs, true));
});

REGISTER_OP("split", "shape")
    .Doc(
        "x split into equal parts along axis.\n"
        "  x [..., n, ...] -> `parts` results [..., n / parts, ...]\n"
        "  let: \"i, f, o, g = split(gates, parts=4, axis=-1)\"")
    .Input("x", "[...]")
    .Required("parts", AttributeKind::kInt, "how many parts")
    .Int("axis", -1, "the axis to split")
    .OverSequence(over_leading_axes_with_axis())
    .Role(ir::Role::kSplit)
    .Access(ir::Access::kRearrange)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      Shape out = c.input(0).shape;
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size(), "split");
      const std::int64_t parts = c.attributes->integer("parts");
      Dim& size = out[static_cast<std::size_t>(axis)];
      const std::optional<Dim> part = parts > 0 ? size.divided_by(parts) : std::nullopt;
      if (!part) {
        throw ir::OpError("E0306 wrong-attribute", "split: " + size.str() + " does not divide into " + std::to_string(parts) +
                                                       (parts == 1 ? " part" : " parts"));
      }
      size = *part;
      c.outputs.assign(static_cast<std::size_t>(parts), {c.input(0).type, out});
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      std::vector<ir::ValueId> parts;
      for (std::size_t i = 0; i < c.outputs.size(); ++i) {
        parts.push_back(c.g(i) == ir::kNone ? c.b.zeros(ir::TensorType(c.type(c.y(i)))) : c.g(i));
      }
      c.set(0, c.b.op("concat", std::move(parts), {{"axis", c.attributes.integer("axis")}}));
    });
REGISTER_KERNEL("split", kCpu, [](const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  const int axis = ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "split");
  return Kernel{[layout = layout_of(sizes, axis, request.outputs, false)](const KernelContext& c) {
    for (std::size_t i = 0; i < layout.parts.size(); ++i) {
      over_part(layout, i, c.inputs[0].as<char>(), c.outputs[i].as<char>(),
                [](const char* whole, char* part, std::size_t bytes) { std::memcpy(part, whole, bytes); });
    }
  }};
});

}  // namespace
}  // namespace graphrun
