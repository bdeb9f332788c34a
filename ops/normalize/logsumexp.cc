// logsumexp.
#include "ops/dispatch.h"
#include "ops/over_sequence.h"
#include "ops/reduce/fold_simd.h"
#include "ops/reduce/reduction.h"

namespace graphrun {
namespace {

REGISTER_OP("logsumexp", "reduce")
    .Doc(
        "y = log(sum(exp(x))) along axis, computed without overflow. Positions at or beyond `lengths` do not count; without\n"
        "positions, y is 0.\n"
        "  x [..., n, ...] -> y [..., ...]\n"
        "  let: \"arrive = logsumexp(step_to, axis=1)\"")
    .Input("x", "[...] FLOAT")
    .OptionalInput("lengths", kLengthsDoc)
    .Required("axis", AttributeKind::kInts, "the axis to reduce, or a list of adjacent axes")
    .Bool("keep", false, "true: reduced axes stay, with size 1")
    .OverSequence(over_leading_axes_with_axis())
    .Role(ir::Role::kLogsumexp)
    .Access(ir::Access::kReduction)
    .Fold(ir::FoldKind::kLogSumExp)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_type(c, 0, Type::kFloat);
      infer_reduction(c, Type::kFloat);
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      // Pointwise, so that it fuses. A y that is not finite counts as 0: the exponentials of -inf vanish.
      const ir::ValueId shift = beside_operand(c, c.b.equation("where(y - y == 0, y, 0)", {{"y", c.y()}}));
      const std::vector<std::pair<std::string, ir::ValueId>> names = {
          {"x", c.x()}, {"shift", shift}, {"g", beside_operand(c, c.g())}};
      c.set(0, real_positions(c, c.b.equation("g * exp(x - shift)", names)));
    });
REGISTER_KERNEL("logsumexp", kCpu, [](const KernelRequest& request) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return reduction_kernel<T>(
        request, view, [](const KernelContext& c, ReduceTask<T>& task) { task.out = c.outputs[0].as<T>(); },
        [](const ReduceTask<T>& part) { logsumexp_along(part); });
  });
});

}  // namespace
}  // namespace graphrun
