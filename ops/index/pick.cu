// pick, scatter_last and one_hot on CUDA.
#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/generated/loop_part.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::clamped;
using cuda::for_elements;

template <class T>
Kernel pick_kernel(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].sizes.back(), rows = request.outputs[0].count();
  Kernel kernel{[=](const KernelContext& c) {
    cuda::check_device_indices(c, c.inputs[1], n);
    const T* x = c.inputs[0].as<T>();
    const auto* index = c.inputs[1].as<std::int32_t>();
    T* out = c.outputs[0].as<T>();
    if (n == 0) return;  // the empty row is reported as an error elsewhere
    for_elements(
        c, rows, GRAPHRUN_LAMBDA(std::int64_t r) { out[r] = x[r * n + clamped(index[r], n)]; });
  }};
  kernel.refuse = cuda::refusal(request.inputs[1], n, "pick: index");
  if (n == 0) return kernel;
  take_part_of_elements(kernel, request, {false, false}, "  a.y0[e] = a.x0[e * a.n + fault.checked(a.x1[e], a.n, e)];\n",
                        {{"n", n}});
  return kernel;
}
REGISTER_KERNEL("pick", kCuda, [](const KernelRequest& request) {
  return with_bits(request.inputs[0].dtype, [&](auto zero) { return pick_kernel<decltype(zero)>(request); });
});

template <class T>
Kernel scatter_last_kernel(const KernelRequest& request) {
  const std::int64_t size = request.outputs[0].sizes.back(), k = request.inputs[0].sizes.back();
  const std::int64_t all = request.outputs[0].count();
  Kernel kernel{[=](const KernelContext& c) {
    cuda::check_device_indices(c, c.inputs[0], size);
    const auto* index = c.inputs[0].as<std::int32_t>();
    const T* values = c.inputs[1].as<T>();
    T* out = c.outputs[0].as<T>();
    for_elements(
        c, all, GRAPHRUN_LAMBDA(std::int64_t i) {
          const std::int64_t row = i / size, column = i % size;
          T value = 0;
          for (std::int64_t j = row * k; j < (row + 1) * k; ++j) {
            if (index[j] == column) value = values[j];
          }
          out[i] = value;
        });
  }};
  kernel.refuse = cuda::refusal(request.inputs[0], size, "scatter_last: index");
  return kernel;
}
REGISTER_KERNEL("scatter_last", kCuda, [](const KernelRequest& request) {
  return with_float(request.inputs[1].dtype, [&](auto zero) { return scatter_last_kernel<decltype(zero)>(request); });
});

template <class T>
Kernel one_hot_kernel(const KernelRequest& request) {
  const std::int64_t depth = request.outputs[0].sizes.back(), all = request.outputs[0].count();
  Kernel kernel{[=](const KernelContext& c) {
    cuda::check_device_indices(c, c.inputs[0], depth);
    const auto* index = c.inputs[0].as<std::int32_t>();
    T* out = c.outputs[0].as<T>();
    for_elements(
        c, all, GRAPHRUN_LAMBDA(std::int64_t i) { out[i] = index[i / depth] == i % depth ? 1 : 0; });
  }};
  kernel.refuse = cuda::refusal(request.inputs[0], depth, "one_hot: index");
  return kernel;
}
REGISTER_KERNEL("one_hot", kCuda, [](const KernelRequest& request) {
  return with_float(request.outputs[0].dtype, [&](auto zero) { return one_hot_kernel<decltype(zero)>(request); });
});

}  // namespace
}  // namespace graphrun
