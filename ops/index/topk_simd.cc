#include "ops/index/topk_simd.h"

#include "ops/index/topk_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/index/topk_simd.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using TopkFloats = hn::ScalableTag<float>;

// The first position from i on whose element is greater than `least`, or where one of the two is NaN; n if there is none.
std::int64_t next_above(const float* x, std::int64_t n, std::int64_t i, float least) {
  const TopkFloats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, least);
  const auto is_rejected = [&](std::int64_t at) HWY_ATTR { return hn::Le(hn::LoadU(d, x + at), limit); };
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto first = hn::And(is_rejected(i), is_rejected(i + lanes));
    const auto second = hn::And(is_rejected(i + 2 * lanes), is_rejected(i + 3 * lanes));
    if (!hn::AllTrue(d, hn::And(first, second))) break;
  }
  for (; i + lanes <= n; i += lanes) {
    const std::intptr_t at = hn::FindFirstTrue(d, hn::Not(is_rejected(i)));
    if (at >= 0) return i + at;
  }
  while (i < n && x[i] <= least) ++i;
  return i;
}

}  // namespace

void topk_here(const TopkTask& t) {
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const float* const x = t.x + r * t.n;
    topk_row(x, t.n, t.values + r * t.k, t.indices + r * t.k, t.k,
             [&](std::int64_t i, float least) { return next_above(x, t.n, i, least); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(topk_here);

void topk_rows(const TopkTask& task) { HWY_DYNAMIC_DISPATCH(topk_here)(task); }

}  // namespace graphrun
#endif
