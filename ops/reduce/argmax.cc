// argmax and argmin.
#include <cstdint>
#include <type_traits>

#include "ops/dispatch.h"
#include "ops/over_sequence.h"
#include "ops/reduce/extreme.h"
#include "ops/reduce/position_simd.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

template <bool kMax>
void find_positions(const std::int32_t* x, std::int32_t* out, const AxisView& view, const Lengths& lengths) {
  parallel_for(view.results(), view.count(), [&](std::int64_t begin, std::int64_t end) {
    std::fill(out + begin, out + end, 0);
    first_extremes<kMax>(x, view, lengths, begin, end,
                         [&](std::int64_t r, std::int64_t a) { out[r] = static_cast<std::int32_t>(a); });
  });
}

template <bool kMax>
Kernel bind_position(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  const AxisView view = view_axis(sizes, ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "argmax"));
  return with_number(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      return reduction_kernel<T>(
          request, view, [](const KernelContext& c, ReduceTask<T>& task) { task.positions = c.outputs[0].as<std::int32_t>(); },
          [](const ReduceTask<T>& part) { kMax ? argmax_along(part) : argmin_along(part); });
    } else {
      return Kernel{[view](const KernelContext& c) {
        find_positions<kMax>(c.inputs[0].as<T>(), c.outputs[0].as<std::int32_t>(), view, lengths_of(c, 1, view));
      }};
    }
  });
}

OpDefinition position_op(const std::string& name, const std::string& what) {
  OpDefinition op(name, "reduce");
  op.Access(ir::Access::kReduction)
      .Fold(ir::fold_named(name))
      .Doc("y = the position of the " + what +
           " of x along axis, INT32; the first among equals. Positions at or beyond `lengths`\n"
           "do not count; without positions, y is 0.\n"
           "  x [..., n, ...] -> y [..., ...]\n"
           "  let: \"label = " +
           name + "(logits, axis=-1)\"")
      .Input("x", "[...] FLOAT or INT32")
      .OptionalInput("lengths", kLengthsDoc)
      .Required("axis", AttributeKind::kInt, "the axis to reduce")
      .OverSequence(over_leading_axes_with_axis())
      .Output("y")
      .Shape([](ir::InferContext& c) {
        if (c.input(0).type == Type::kBool) ir::require_type(c, 0, Type::kInt32);
        const int axis = ir::resolve_axis(c.attributes->integer("axis"), c.input(0).shape.size(), c.op->name);
        ir::check_lengths(c, 0, 1, axis);
        Shape out = c.input(0).shape;
        out.erase(out.begin() + axis);
        c.outputs = {{Type::kInt32, std::move(out)}};
      })
      .NoGradient("the result is an integer");
  return op;
}

const OpRegistration argmax_op = position_op("argmax", "maximum");
const OpRegistration argmin_op = position_op("argmin", "minimum");
REGISTER_KERNEL("argmax", kCpu, bind_position<true>);
REGISTER_KERNEL("argmin", kCpu, bind_position<false>);

}  // namespace
}  // namespace graphrun
