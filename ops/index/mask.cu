// mask, last, its gradient and sequence_mask on CUDA.
#include "ops/axis.h"
#include "ops/dispatch.h"
#include "ops/schema.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

using cuda::for_elements;

AxisView bound_view(const KernelRequest& request, const Sizes& sizes) {
  return view_axis(sizes, ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "axis"));
}

// The position of element i of a tensor: along the axis, and in the result, which lacks the axis.
struct AxisPosition {
  std::int64_t position, result;
};
GRAPHRUN_DEVICE AxisPosition place_of(const AxisView& view, std::int64_t i) {
  const std::int64_t row = i / view.inner;
  return {row % view.n, row / view.n * view.inner + i % view.inner};
}

template <class T>
Kernel mask_kernel(const AxisView view) {
  return {[view](const KernelContext& c) {
    const T* x = c.inputs[0].as<T>();
    T* out = c.outputs[0].as<T>();
    const Lengths lengths = lengths_of(c, 1, view);
    for_elements(
        c, view.count(), GRAPHRUN_LAMBDA(std::int64_t i) {
          const AxisPosition at = place_of(view, i);
          out[i] = at.position < lengths.at(at.result) ? x[i] : T{0};
        });
  }};
}
REGISTER_KERNEL("mask", kCuda, [](const KernelRequest& request) {
  const AxisView view = bound_view(request, request.inputs[0].sizes);
  return with_bits(request.inputs[0].dtype, [&](auto zero) { return mask_kernel<decltype(zero)>(view); });
});

template <class T>
Kernel last_kernel(const AxisView view) {
  return {[view](const KernelContext& c) {
    const T* x = c.inputs[0].as<T>();
    T* out = c.outputs[0].as<T>();
    const Lengths lengths = lengths_of(c, 1, view);
    for_elements(
        c, view.results(), GRAPHRUN_LAMBDA(std::int64_t r) {
          const std::int64_t length = lengths.at(r);
          out[r] = length == 0 ? T{0} : x[(r / view.inner * view.n + length - 1) * view.inner + r % view.inner];
        });
  }};
}
REGISTER_KERNEL("last", kCuda, [](const KernelRequest& request) {
  const AxisView view = bound_view(request, request.inputs[0].sizes);
  return with_bits(request.inputs[0].dtype, [&](auto zero) { return last_kernel<decltype(zero)>(view); });
});

template <class T>
Kernel last_gradient_kernel(const AxisView view) {
  return {[view](const KernelContext& c) {
    const T* g = c.inputs[0].as<T>();
    T* out = c.outputs[0].as<T>();
    const Lengths lengths = lengths_of(c, 1, view);
    for_elements(
        c, view.count(), GRAPHRUN_LAMBDA(std::int64_t i) {
          const AxisPosition at = place_of(view, i);
          out[i] = at.position == lengths.at(at.result) - 1 ? g[at.result] : T{0};
        });
  }};
}
REGISTER_KERNEL("last_gradient", kCuda, [](const KernelRequest& request) {
  const AxisView view = bound_view(request, request.outputs[0].sizes);
  return with_float(request.inputs[0].dtype, [&](auto zero) { return last_gradient_kernel<decltype(zero)>(view); });
});

Kernel sequence_mask_kernel(const KernelRequest& request) {
  const AxisView view = bound_view(request, request.outputs[0].sizes);
  return {[view](const KernelContext& c) {
    const auto* lengths = c.inputs[0].as<std::int32_t>();
    auto* out = c.outputs[0].as<std::uint8_t>();
    for_elements(
        c, view.count(), GRAPHRUN_LAMBDA(std::int64_t i) {
          const AxisPosition at = place_of(view, i);
          out[i] = at.position < lengths[at.result] ? 1 : 0;
        });
  }};
}
REGISTER_KERNEL("sequence_mask", kCuda, sequence_mask_kernel);

}  // namespace
}  // namespace graphrun
