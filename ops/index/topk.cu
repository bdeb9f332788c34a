// topk on CUDA.
#include <string>

#include "ops/dispatch.h"
#include "ops/index/topk_row.h"
#include "ops/reduce/columns_device.h"
#include "ops/schema.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

using cuda::Best;
using cuda::Column;

// Finds the largest element after the last one found, k times: each pass reads the row with all threads of the block,
// coalesced. For a few elements of long rows, such as a beam's words.
template <class T>
struct TopBody {
  const T* x;
  T* values;
  std::int32_t* indices;
  std::int64_t k;

  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    Best<T> last{T(0), -1};
    for (std::int64_t place = 0; place < k; ++place) {
      const Best<T> next = c.fold(
          Best<T>{T(0), -1},
          [&](Best<T> best, std::int64_t at, std::int64_t a) {
            const Best<T> here{x[at], a};
            return last.position >= 0 && !comes_first(last, here) ? best : first(best, here);
          },
          [](Best<T> a, Best<T> b) { return first(a, b); });
      if (c.leads()) {
        values[c.result * k + place] = next.value;
        indices[c.result * k + place] = static_cast<std::int32_t>(next.position);
      }
      last = next;
    }
  }

  GRAPHRUN_DEVICE static bool comes_first(Best<T> a, Best<T> b) {
    return is_greater(a.value, b.value) || (!is_greater(b.value, a.value) && a.position < b.position);
  }
  GRAPHRUN_DEVICE static Best<T> first(Best<T> a, Best<T> b) {
    if (a.position < 0 || b.position < 0) return a.position < 0 ? b : a;
    return comes_first(b, a) ? b : a;
  }
};

// One thread per row, in a single pass: for large k, which would take too many passes.
template <class T>
void topk_by_rows(const KernelContext& c, std::int64_t rows, std::int64_t n, std::int64_t k) {
  const T* x = c.inputs[0].as<T>();
  T* values = c.outputs[0].as<T>();
  auto* indices = c.outputs[1].as<std::int32_t>();
  cuda::for_elements(
      c, rows, GRAPHRUN_LAMBDA(std::int64_t r) { topk_row(x + r * n, n, values + r * k, indices + r * k, k); });
}

constexpr std::int64_t kMostPasses = 64;

template <class T>
Kernel topk_kernel(std::int64_t rows, std::int64_t n, std::int64_t k) {
  const AxisView view{rows, n, 1};
  return {[=](const KernelContext& c) {
    if (k > kMostPasses) return topk_by_rows<T>(c, rows, n, k);
    cuda::for_columns(c, view, {nullptr, 1, n}, sizeof(Best<T>),
                      TopBody<T>{c.inputs[0].as<T>(), c.outputs[0].as<T>(), c.outputs[1].as<std::int32_t>(), k});
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
