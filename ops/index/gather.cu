// gather and scatter_add on CUDA.
#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/generated/loop_part.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::clamped;
using cuda::for_elements;

template <class T>
Kernel gather_kernel(const KernelRequest& request) {
  const std::int64_t rows = request.inputs[0].sizes.front(), all = request.outputs[0].count();
  const std::int64_t count = request.inputs[1].count(), width = count == 0 ? 0 : all / count;
  Kernel kernel{[=](const KernelContext& c) {
    cuda::check_device_indices(c, c.inputs[1], rows);
    const T* table = c.inputs[0].as<T>();
    const auto* indices = c.inputs[1].as<std::int32_t>();
    T* out = c.outputs[0].as<T>();
    if (rows == 0) return;  // the empty table is reported as an error elsewhere
    for_elements(
        c, all, GRAPHRUN_LAMBDA(std::int64_t i) { out[i] = table[clamped(indices[i / width], rows) * width + i % width]; });
  }};
  kernel.refuse = cuda::refusal(request.inputs[1], rows, "gather: index");
  if (rows == 0) return kernel;
  take_part_of_elements(kernel, request, {true, false},
                        "  const std::int64_t at = e / a.width;\n"
                        "  a.y0[e] = a.x0[fault.checked(a.x1[at], a.rows, at) * a.width + e % a.width];\n",
                        {{"rows", rows}, {"width", width}});
  return kernel;
}
REGISTER_KERNEL("gather", kCuda, [](const KernelRequest& request) {
  return with_bits(request.inputs[0].dtype, [&](auto zero) { return gather_kernel<decltype(zero)>(request); });
});

// One thread for each element of the result goes through the indices in order, so the order of the sum is fixed: no atomics.
template <class T>
Kernel scatter_add_kernel(const KernelRequest& request) {
  const std::int64_t rows = request.outputs[0].sizes.front(), all = request.outputs[0].count();
  const std::int64_t count = request.inputs[0].count(), width = rows == 0 ? 0 : all / rows;
  Kernel kernel{[=](const KernelContext& c) {
    cuda::check_device_indices(c, c.inputs[0], rows);
    const auto* indices = c.inputs[0].as<std::int32_t>();
    const T* values = c.inputs[1].as<T>();
    T* out = c.outputs[0].as<T>();
    for_elements(
        c, all, GRAPHRUN_LAMBDA(std::int64_t i) {
          const std::int64_t row = i / width, column = i % width;
          T sum = 0;
          for (std::int64_t k = 0; k < count; ++k) {
            if (indices[k] == row) sum += values[k * width + column];
          }
          out[i] = sum;
        });
  }};
  kernel.refuse = cuda::refusal(request.inputs[0], rows, "scatter_add: index");
  return kernel;
}
REGISTER_KERNEL("scatter_add", kCuda, [](const KernelRequest& request) {
  return with_number(request.inputs[1].dtype, [&](auto zero) { return scatter_add_kernel<decltype(zero)>(request); });
});

}  // namespace
}  // namespace graphrun
