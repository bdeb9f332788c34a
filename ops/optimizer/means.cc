// Ops that go with updates: sums of gradients over batches, means of parameters over updates.
#include <algorithm>

#include "ops/optimizer/update.h"
#include "ops/optimizer/update_op.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

// factors(t) returns a and b of y = a x + b z for the scalar operand t.
template <class Factors>
Kernel blend_kernel(const KernelRequest& request, Factors factors) {
  const auto kernel = [=](auto zero) -> Kernel {
    using T = decltype(zero);
    return {[=](const KernelContext& c) {
              const auto [a, b] = factors(*c.attributes, scalar_or_one<T>(c, 2));
              const BlendTask<T> task{c.inputs[0].as<const T>(), c.inputs[1].as<const T>(), c.outputs[0].as<T>(), a, b, 0, 0};
              parallel_ranges(c.outputs[0].count(), kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
                BlendTask<T> part = task;
                part.begin = begin, part.end = end;
                blend(part);
              });
            },
            0};
  };
  return request.outputs.at(0).dtype == DType::kFloat32 ? kernel(float{}) : kernel(double{});
}

void infer_shapes(ir::InferContext& c) {
  require_one_shape(c, 0, 2);
  require_scalar(c, 2);
  c.outputs = {c.input(0)};
}

REGISTER_OP("sum_update", "optimizer")
    .Doc("s' = keep * s + x: a sum over several runs, such as of gradients over batches. If keep is 0, s is not read.")
    .Input("s", "[...] FLOAT: the sum so far")
    .Input("x", "[...] FLOAT: the value to add")
    .Input("keep", "[] FLOAT: 0 begins a sum, 1 continues it")
    .Output("s")
    .Update()
    .InPlace(0, 0)
    .NoGradient("it is applied after differentiation")
    .Shape(infer_shapes);
REGISTER_KERNEL("sum_update", kCpu, [](const KernelRequest& request) {
  return blend_kernel(request, [](const Attributes&, double keep) { return std::pair(keep, 1.0); });
});

REGISTER_OP("average_update", "optimizer")
    .Doc(
        "a' = d a + (1 - d) x with d = min(decay, 1 - 1/t): the exponential moving average of a parameter (Polyak & Juditsky "
        "1992),\n"
        "which begins as the mean of the first values.")
    .Input("a", "[...] FLOAT: the average so far")
    .Input("x", "[...] FLOAT: the newest value")
    .Input("t", "[] FLOAT: the number of this value, 1 for the first")
    .Required("decay", AttributeKind::kFloat, "the weight of the old average, at least 0 and below 1")
    .Output("a")
    .Update()
    .InPlace(0, 0)
    .NoGradient("it is applied after differentiation")
    .Shape(infer_shapes);
REGISTER_KERNEL("average_update", kCpu, [](const KernelRequest& request) {
  return blend_kernel(request, [](const Attributes& attributes, double t) {
    const double d = std::min(attributes.number("decay"), 1 - 1 / std::max(t, 1.0));
    return std::pair(d, 1 - d);
  });
});

}  // namespace
}  // namespace graphrun
