// topk on CUDA.
#include <string>

#include "ops/dispatch.h"
#include "ops/schema.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

// A thread for each row, in one pass: the k best so far stand in order in the result itself. Rows are what there are many of in
// a beam's step; one row alone would want more threads.
template <class T>
Kernel topk_kernel(std::int64_t rows, std::int64_t n, std::int64_t k) {
  return {[=](const KernelContext& c) {
    const T* all = c.inputs[0].as<T>();
    T* values = c.outputs[0].as<T>();
    auto* indices = c.outputs[1].as<std::int32_t>();
    cuda::for_elements(
        c, rows, GRAPHRUN_LAMBDA(std::int64_t r) {
          const T* x = all + r * n;
          T* value = values + r * k;
          std::int32_t* index = indices + r * k;
          std::int64_t kept = 0;
          for (std::int64_t i = 0; i < n; ++i) {
            if (kept == k && !(x[i] > value[k - 1])) continue;
            std::int64_t place = kept < k ? kept++ : k - 1;
            for (; place > 0 && x[i] > value[place - 1]; --place) {
              value[place] = value[place - 1];
              index[place] = index[place - 1];
            }
            value[place] = x[i];
            index[place] = static_cast<std::int32_t>(i);
          }
        });
  }};
}
REGISTER_KERNEL("topk", kCuda, [](const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].sizes.back(), k = request.attributes->integer("k");
  const std::int64_t rows = request.outputs[0].count() / k;
  if (k > n) {
    throw UserError(ExitCode::kBadData, "E0611 slice-out-of-range",
                    "topk: k = " + std::to_string(k) + " of rows with " + std::to_string(n) + " elements");
  }
  return with_number(request.inputs[0].dtype, [&](auto zero) { return topk_kernel<decltype(zero)>(rows, n, k); });
});

}  // namespace
}  // namespace graphrun
