// constant, zeros, full, dim and range on CUDA.
#include "ops/axis.h"
#include "ops/constant/size_as_int32.h"
#include "ops/dispatch.h"
#include "ops/generated/loop_part.h"
#include "ops/schema.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

using cuda::for_elements;

template <class T>
Kernel filled(std::int64_t count, double value) {
  return {[count, value = static_cast<T>(value)](const KernelContext& c) {
    T* out = c.outputs[0].as<T>();
    const T number = value;
    for_elements(
        c, count, GRAPHRUN_LAMBDA(std::int64_t i) { out[i] = number; });
  }};
}

Kernel bind_filled(const KernelRequest& request) {
  const double value = request.attributes->has("value") ? request.attributes->number("value") : 0;
  const TensorView& out = request.outputs[0];
  Kernel kernel = with_any(out.dtype, [&](auto zero) { return filled<decltype(zero)>(out.count(), value); });
  take_part_of_elements(kernel, request, {}, "  a.y0[e] = " + device_literal(value, out.dtype) + ";\n");
  return kernel;
}
REGISTER_KERNEL("constant", kCuda, bind_filled);
REGISTER_KERNEL("zeros", kCuda, bind_filled);
REGISTER_KERNEL("full", kCuda, bind_filled);

REGISTER_KERNEL("dim", kCuda, [](const KernelRequest& request) {
  return filled<std::int32_t>(1, static_cast<double>(size_as_int32(evaluate(request.attributes->dim("size"), request))));
});

Kernel bind_range(const KernelRequest& request) {
  return {[count = std::int64_t{size_as_int32(request.outputs[0].count())}](const KernelContext& c) {
    auto* out = c.outputs[0].as<std::int32_t>();
    for_elements(
        c, count, GRAPHRUN_LAMBDA(std::int64_t i) { out[i] = static_cast<std::int32_t>(i); });
  }};
}
REGISTER_KERNEL("range", kCuda, bind_range);

}  // namespace
}  // namespace graphrun
