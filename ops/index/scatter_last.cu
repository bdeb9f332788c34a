// scatter_last on CUDA.
#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::for_elements;

template <class T>
Kernel scatter_last_kernel(const KernelRequest& request) {
  const std::int64_t size = request.outputs[0].sizes.back(), k = request.inputs[0].sizes.back();
  const std::int64_t all = request.outputs[0].count();
  Kernel kernel{[=](const KernelContext& c) {
    if (all == 0) return cuda::check_device_indices(c, c.inputs[0], size);  // no element reads an index
    const cuda::CheckedIndices index = cuda::checked_indices(c, c.inputs[0]);
    const T* values = c.inputs[1].as<T>();
    T* out = c.outputs[0].as<T>();
    for_elements(
        c, all, GRAPHRUN_LAMBDA(std::int64_t i) {
          const std::int64_t row = i / size, column = i % size;
          T value = 0;
          for (std::int64_t j = row * k; j < (row + 1) * k; ++j) {
            if (column == 0 && index.is_bad(j, size)) index.record(j, size);
            if (index.data[j] == column) value = values[j];
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

}  // namespace
}  // namespace graphrun
