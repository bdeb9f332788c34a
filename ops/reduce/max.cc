// max and min, and their gradients.
#include <cstdint>
#include <type_traits>

#include "ops/dispatch.h"
#include "ops/over_sequence.h"
#include "ops/reduce/extreme.h"
#include "ops/reduce/fold_simd.h"
#include "ops/reduce/reduction.h"

namespace graphrun {
namespace {

template <bool kMax>
void extreme(const std::int32_t* x, std::int32_t* out, const AxisView& view, const Lengths& lengths) {
  parallel_for(view.results(), view.count(), [&](std::int64_t begin, std::int64_t end) {
    std::fill(out + begin, out + end, 0);
    first_extremes<kMax>(x, view, lengths, begin, end, [&](std::int64_t r, std::int64_t a) {
      out[r] = x[(r / view.inner * view.n + a) * view.inner + r % view.inner];
    });
  });
}

template <bool kMax>
Kernel bind_extreme(const KernelRequest& request) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  return with_number(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      return reduction_kernel<T>(
          request, view, [](const KernelContext& c, ReduceTask<T>& task) { task.out = c.outputs[0].as<T>(); },
          [](const ReduceTask<T>& part) { kMax ? max_along(part) : min_along(part); });
    } else {
      return Kernel{[view](const KernelContext& c) {
        extreme<kMax>(c.inputs[0].as<T>(), c.outputs[0].as<T>(), view, lengths_of(c, 1, view));
      }};
    }
  });
}

// Inputs x, lengths, g.
template <bool kMax>
Kernel bind_extreme_gradient(const KernelRequest& request) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view](const KernelContext& c) {
      const T *x = c.inputs[0].as<T>(), *g = c.inputs[2].as<T>();
      T* out = c.outputs[0].as<T>();
      const Lengths lengths = lengths_of(c, 1, view);
      std::fill_n(out, view.count(), T{0});
      parallel_for(view.results(), view.count(), [&](std::int64_t begin, std::int64_t end) {
        first_extremes<kMax>(x, view, lengths, begin, end, [&](std::int64_t r, std::int64_t a) {
          out[(r / view.inner * view.n + a) * view.inner + r % view.inner] = g[r];
        });
      });
    }};
  });
}

// g at the position of the extreme, 0 elsewhere: pointwise, so that it fuses.
ir::ValueId at_position(ir::GradientContext& c, const std::string& position) {
  const Shape x = c.shape(c.x());
  const auto axis = static_cast<std::int64_t>(reduced_axes(c.op, c.attributes, x.size()).first);
  ir::ValueId places = c.b.op("range", {}, {{"n", x[static_cast<std::size_t>(axis)]}});
  for (auto behind = static_cast<std::int64_t>(x.size()) - axis - 1; behind > 0; --behind) {
    places = c.b.op("expand", {places}, {{"axis", std::int64_t{-1}}});
  }
  ir::ValueId place = c.b.op(position, {c.x()}, {{"axis", axis}});
  place = c.b.op("expand", {place}, {{"axis", axis}});
  return c.b.equation("where(places == place, g, 0)", {{"places", places}, {"place", place}, {"g", beside_operand(c, c.g())}});
}

OpDefinition extreme_op(const std::string& name, const std::string& what) {
  OpDefinition op = reduction(name,
                              "y = the " + what +
                                  " of x along axis, or over all axes. Positions at or beyond `lengths` do not\n"
                                  "count; without positions, y is 0. The gradient goes to the first among equals.\n"
                                  "  x [..., n, ...] -> y [..., ...]\n"
                                  "  let: \"best = " +
                                  name + "(scores, axis=1)\"",
                              "[...] FLOAT or INT32");
  op.Shape([](ir::InferContext& c) {
      if (c.input(0).type == Type::kBool) ir::require_type(c, 0, Type::kInt32);
      infer_reduction(c, c.input(0).type);
    }).Gradient([gradient = name + "_gradient", position = "arg" + name](ir::GradientContext& c) {
    if (!c.needs()) return;
    if (c.attributes.integers("axis").size() == 1 && (c.inputs.size() < 2 || c.x(1) == ir::kNone)) {
      c.set(0, at_position(c, position));
      return;
    }
    c.set(0, c.b.op(gradient, {c.x(), c.x(1), c.g()},
                    {{"axis", c.attributes.integers("axis")}, {"keep", c.attributes.boolean("keep")}}));
  });
  return op;
}

OpDefinition extreme_gradient_op(const std::string& name, const std::string& what) {
  OpDefinition op(name + "_gradient", "reduce");
  op.Access(ir::Access::kReduction)
      .Doc("The gradient of " + name + ": g at the first " + what +
           " along axis, 0 elsewhere.\n"
           "  x [..., n, ...], g [..., ...] -> d_x [..., n, ...]")
      .Input("x", "[...] FLOAT: the operand that was reduced")
      .OptionalInput("lengths", "INT32: those of " + name)
      .Input("g", "FLOAT: the gradient of the result, of its shape")
      .Default("axis", AttributeKind::kInts, std::vector<std::int64_t>{}, "that of " + name)
      .Bool("keep", false, "that of " + name)
      .OverSequence(over_leading_axes_with_axis())
      .Output("d_x")
      .Internal()
      .Shape([](ir::InferContext& c) { c.outputs = {c.input(0)}; })
      .NoGradient("it is the gradient of another op, and there are no second derivatives");
  return op;
}

const OpRegistration max_op = extreme_op("max", "maximum");
const OpRegistration min_op = extreme_op("min", "minimum");
const OpRegistration max_gradient_op = extreme_gradient_op("max", "maximum");
const OpRegistration min_gradient_op = extreme_gradient_op("min", "minimum");
REGISTER_KERNEL("max", kCpu, bind_extreme<true>);
REGISTER_KERNEL("min", kCpu, bind_extreme<false>);
REGISTER_KERNEL("max_gradient", kCpu, bind_extreme_gradient<true>);
REGISTER_KERNEL("min_gradient", kCpu, bind_extreme_gradient<false>);

}  // namespace
}  // namespace graphrun
