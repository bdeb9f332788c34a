#include "ops/normalize/cross_entropy_simd.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalize/cross_entropy_simd.cc"
#include "hwy/foreach_target.h"
#include "ops/simd-inl.h"
#include "ops/simd_export.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {

// The term that smoothing and target subtract from the log of the sum.
template <class T>
HWY_INLINE T expected_logit(const CrossEntropyTask<T>& task, const T* x, std::int64_t row) {
  const T gold = x[task.target[row]];
  if (task.smoothing == T{0}) return gold;
  const T sum = sum_row<T>(task.classes, [&](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
  return (T{1} - task.smoothing) * gold + task.smoothing * (sum / static_cast<T>(task.classes));
}

template <class T>
void cross_entropy_rows(const CrossEntropyTask<T>& task) {
  for (std::int64_t row = task.begin; row < task.end; ++row) {
    const T* x = task.logits + row * task.classes;
    const T shift = finite_or_zero(max_row(x, task.classes));
    const T log_total = std::log(sum_exp_row(x, task.classes, shift));
    // Compute the difference first: it is small if the model is confident, however large the logits are.
    task.nll[row] = log_total + (shift - expected_logit(task, x, row));
  }
}

template <class T>
void cross_entropy_gradient_rows(const CrossEntropyTask<T>& task) {
  for (std::int64_t row = task.begin; row < task.end; ++row) {
    const T* x = task.logits + row * task.classes;
    T* out = task.d_logits + row * task.classes;
    const T g = task.g[row];
    if (g == T{0}) {
      std::fill_n(out, task.classes, T{0});
      continue;
    }
    const T log_total = task.nll[row] + expected_logit(task, x, row);
    const T each = g * task.smoothing / static_cast<T>(task.classes);
    for_lanes<T>(task.classes, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto p = exp_of(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, log_total)));
      hn::StoreU(hn::MulSub(hn::Set(d, g), p, hn::Set(d, each)), d, out + i);
    });
    out[task.target[row]] -= g * (T{1} - task.smoothing);
  }
}

GRAPHRUN_SIMD_OP(cross_entropy_rows, CrossEntropyTask)
GRAPHRUN_SIMD_OP(cross_entropy_gradient_rows, CrossEntropyTask)

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {
GRAPHRUN_SIMD_EXPORT(cross_entropy_rows, CrossEntropyTask)
GRAPHRUN_SIMD_EXPORT(cross_entropy_gradient_rows, CrossEntropyTask)
}  // namespace graphrun
#endif
