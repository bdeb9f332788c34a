// put on CUDA.
#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

template <class T>
Kernel put_kernel(const KernelRequest& request) {
  const std::int64_t rows = request.inputs[0].sizes.front(), all = request.outputs[0].count(),
                     width = request.inputs[1].count();
  Kernel kernel{[=](const KernelContext& c) {
    const T *buffer = c.inputs[0].as<T>(), *row = c.inputs[1].as<T>();
    const cuda::CheckedIndices index = cuda::checked_indices(c, c.inputs[2]);
    T* out = c.outputs[0].as<T>();
    if (all == 0) return cuda::check_device_indices(c, c.inputs[2], rows);  // no element reads the index
    if (out == buffer) {
      cuda::for_elements(
          c, width, GRAPHRUN_LAMBDA(std::int64_t i) { out[index.at(0, rows) * width + i] = row[i]; });
      return;
    }
    cuda::for_elements(
        c, all, GRAPHRUN_LAMBDA(std::int64_t i) { out[i] = i / width == index.at(0, rows) ? row[i % width] : buffer[i]; });
  }};
  kernel.refuse = cuda::refusal(request.inputs[2], rows, "put: row");
  return kernel;
}
REGISTER_KERNEL("put", kCuda, [](const KernelRequest& request) {
  return with_bits(request.inputs[0].dtype, [&](auto zero) { return put_kernel<decltype(zero)>(request); });
});

}  // namespace
}  // namespace graphrun
