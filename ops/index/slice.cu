// slice, index and pad on CUDA.
#include "ops/dispatch.h"
#include "ops/index/axis_part.h"
#include "ops/schema.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

using cuda::for_elements;

template <class T>
Kernel part_kernel(const AxisPart part) {
  return {[part](const KernelContext& c) {
    const T* x = c.inputs[0].as<T>();
    T* out = c.outputs[0].as<T>();
    const std::int64_t row = part.n * part.whole.inner, whole = part.whole.n * part.whole.inner;
    const std::int64_t before = part.begin * part.whole.inner;
    for_elements(
        c, part.whole.outer * row, GRAPHRUN_LAMBDA(std::int64_t i) { out[i] = x[i / row * whole + before + i % row]; });
  }};
}
REGISTER_KERNEL("slice", kCuda, [](const KernelRequest& request) {
  return with_bits(request.inputs[0].dtype, [&](auto zero) { return part_kernel<decltype(zero)>(slice_part(request)); });
});
REGISTER_KERNEL("index", kCuda, [](const KernelRequest& request) {
  return with_bits(request.inputs[0].dtype, [&](auto zero) { return part_kernel<decltype(zero)>(index_part(request)); });
});

template <class T>
Kernel pad_kernel(const AxisPart part) {
  return {[part](const KernelContext& c) {
    const T* x = c.inputs[0].as<T>();
    T* out = c.outputs[0].as<T>();
    const std::int64_t row = part.n * part.whole.inner, whole = part.whole.n * part.whole.inner;
    const std::int64_t before = part.begin * part.whole.inner;
    for_elements(
        c, part.whole.count(), GRAPHRUN_LAMBDA(std::int64_t i) {
          const std::int64_t at = i % whole - before;
          out[i] = at >= 0 && at < row ? x[i / whole * row + at] : T{0};
        });
  }};
}
REGISTER_KERNEL("pad", kCuda, [](const KernelRequest& request) {
  return with_bits(request.inputs[0].dtype, [&](auto zero) { return pad_kernel<decltype(zero)>(pad_part(request)); });
});

}  // namespace
}  // namespace graphrun
