// scatter_add on CUDA.
#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::for_elements;

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
