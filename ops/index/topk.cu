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

// Finds the largest element after the last one found, k times. The threads of a block read the row once, coalesced, and each
// keeps the largest of its elements that has not been found; only the one whose element is found looks at its share again, if
// there are more to find. For a few elements of long rows, such as a beam's words.
template <class T>
struct TopBody {
  using Element = Best<T, std::int32_t>;
  const T* x;
  T* values;
  std::int32_t* indices;
  std::int64_t k;

  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    Element own = best_after<true>({T(0), -1}, c);
    for (std::int64_t place = 0;; ++place) {
      const Element next = c.joined(own, [](Element a, Element b) { return first(a, b); });
      if (c.leads()) {
        values[c.result * k + place] = next.value;
        indices[c.result * k + place] = next.position;
      }
      if (place + 1 == k) return;
      if (next.position == own.position) own = best_after<false>(next, c);
    }
  }

  // The first of this lane's elements that come after `last`; of all of them if it is the first look. Several are loaded at a
  // time and compared without branches, so that their loads overlap.
  template <bool is_first_look>
  GRAPHRUN_DEVICE Element best_after(Element last, const Column& c) const {
    constexpr int kAhead = 10;  // a lane of the largest block loads its share of 10 000 elements at once
    const T* const row = x + c.first;
    const auto n = static_cast<std::uint32_t>(c.n), step = static_cast<std::uint32_t>(c.grid.lanes);
    Element best{T(0), -1};
    for (auto a = static_cast<std::uint32_t>(c.lane); a < n; a += kAhead * step) {
      T loaded[kAhead];
      GRAPHRUN_UNROLL
      for (int i = 0; i < kAhead; ++i) {
        const std::uint32_t at = a + i * step;
        loaded[i] = at < n ? row[at] : T(0);
      }
      GRAPHRUN_UNROLL
      for (int i = 0; i < kAhead; ++i) {
        const std::uint32_t at = a + i * step;
        const Element here{loaded[i], static_cast<std::int32_t>(at)};
        const bool counts = is_first_look || comes_first(last, here);
        const bool takes = (at < n) & counts & ((best.position < 0) | is_greater(here.value, best.value));
        best = {takes ? here.value : best.value, takes ? here.position : best.position};
      }
    }
    return best;
  }
  GRAPHRUN_DEVICE static bool comes_first(Element a, Element b) {
    return is_greater(a.value, b.value) | (!is_greater(b.value, a.value) & (a.position < b.position));
  }
  GRAPHRUN_DEVICE static Element first(Element a, Element b) {
    const bool second = (a.position < 0) | ((b.position >= 0) & comes_first(b, a));
    return {second ? b.value : a.value, second ? b.position : a.position};
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
    cuda::for_columns(c, view, {nullptr, 1, n}, sizeof(Best<T, std::int32_t>),
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
