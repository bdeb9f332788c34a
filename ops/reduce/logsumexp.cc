// logsumexp and its gradient.
#include "ops/dispatch.h"
#include "ops/over_sequence.h"
#include "ops/reduce/fold_simd.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/softmax_simd.h"

namespace graphrun {
namespace {

REGISTER_OP("logsumexp", "reduce")
    .Doc(
        "y = log(sum(exp(x))) along axis, computed without overflow. Positions from `lengths` on do not count; over\n"
        "nothing it is 0.\n"
        "  x [..., n, ...] -> y [..., ...]\n"
        "  let: \"arrive = logsumexp(step_to, axis=1)\"")
    .Input("x", "[...] FLOAT")
    .OptionalInput("lengths",
                   "INT32: the number of positions along axis that count; its shape is that of x without axis, or leads it")
    .Required("axis", AttributeKind::kInts, "the axis that goes, or a list of neighbouring ones")
    .Bool("keep", false, "true: the axis stays, with size 1")
    .OverSequence(over_leading_axes_with_axis())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_type(c, 0, Type::kFloat);
      infer_reduction(c, Type::kFloat);
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      c.set(0, c.b.op("logsumexp_gradient", {c.x(), c.x(1), c.y(), c.g()},
                      {{"axis", c.attributes.integers("axis")}, {"keep", c.attributes.boolean("keep")}}));
    });
REGISTER_KERNEL("logsumexp", kCpu, [](const KernelRequest& request) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view](const KernelContext& c) {
      ReduceTask<T> task;
      task.x = c.inputs[0].as<T>(), task.out = c.outputs[0].as<T>();
      task.view = view, task.lengths = lengths_of(c, 1, view);
      run_units(task, [](const ReduceTask<T>& part) { logsumexp_along(part); });
    }};
  });
});

REGISTER_OP("logsumexp_gradient", "reduce")
    .Doc(
        "The gradient of logsumexp: d_x = g * exp(x - y), 0 from the lengths on.\n"
        "  x [..., n, ...], y and g [..., ...] -> d_x [..., n, ...]")
    .Input("x", "[...] FLOAT: what was reduced")
    .OptionalInput("lengths", "INT32: as logsumexp had them")
    .Input("y", "FLOAT: the result")
    .Input("g", "FLOAT: the gradient of the result")
    .Required("axis", AttributeKind::kInts, "as logsumexp had it")
    .Bool("keep", false, "as logsumexp had it")
    .OverSequence(over_leading_axes_with_axis())
    .Output("d_x")
    .Internal()
    .InPlace(0, 0)
    .Shape([](ir::InferContext& c) { c.outputs = {c.input(0)}; })
    .NoGradient("made by differentiation, which is done once");
REGISTER_KERNEL("logsumexp_gradient", kCpu, [](const KernelRequest& request) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view](const KernelContext& c) {
      ReduceTask<T> task;
      task.x = c.inputs[0].as<T>(), task.y = c.inputs[2].as<T>(), task.g = c.inputs[3].as<T>(), task.out = c.outputs[0].as<T>();
      task.view = view, task.lengths = lengths_of(c, 1, view);
      run_units(task, [](const ReduceTask<T>& part) { logsumexp_gradient_along(part); });
    }};
  });
});

}  // namespace
}  // namespace graphrun
