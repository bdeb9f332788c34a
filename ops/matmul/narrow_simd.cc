#include "ops/matmul/narrow_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/narrow_simd.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "runtime/program/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

constexpr std::size_t kAhead = 3072;  // how far ahead the panel, or the next one, is prefetched, in bytes

HWY_INLINE hn::Vec<Floats> widened(const std::uint16_t* from) {
  const hn::Rebind<std::uint16_t, Floats> narrow;
  const hn::Rebind<std::uint32_t, Floats> whole;
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(whole, hn::LoadU(narrow, from))));
}

// R rows of C from row i on, V vectors of columns from column j of the panel on.
template <int R, int V>
HWY_INLINE void strip(const NarrowPanel& p, std::int64_t i, std::int64_t j) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<Floats> sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(d);
  }
  const float* a = p.a + i * p.k;
  const std::uint16_t* row = p.panel + j;
  for (std::int64_t k = 0; k < p.k; ++k, row += p.width) {
    hwy::Prefetch(row + kAhead / sizeof(std::uint16_t));
    hn::Vec<Floats> b[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) b[v] = widened(row + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const hn::Vec<Floats> x = hn::Set(d, a[r * p.k + k]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(x, b[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    float* out = p.c + (i + r) * p.c_row + j;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      float* to = out + v * lanes;
      const std::int64_t count = p.columns - j - v * lanes;
      if (count >= lanes) {
        hn::StoreU(p.accumulate ? hn::Add(hn::LoadU(d, to), sum[r][v]) : sum[r][v], d, to);
        continue;
      }
      HWY_ALIGN float each[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(sum[r][v], d, each);
      for (std::int64_t x = 0; x < count; ++x) to[x] = p.accumulate ? to[x] + each[x] : each[x];
    }
  }
}

template <int V>
void rows_of_strip(const NarrowPanel& p, std::int64_t j) {
  constexpr int kRows = hn::MaxLanes(Floats()) >= 16 ? 8 : 4;  // as many sums as registers can hold
  std::int64_t i = 0;
  for (; i + kRows <= p.rows; i += kRows) strip<kRows, V>(p, i, j);
  for (; i + 4 <= p.rows; i += 4) strip<4, V>(p, i, j);
  for (; i + 2 <= p.rows; i += 2) strip<2, V>(p, i, j);
  for (; i < p.rows; ++i) strip<1, V>(p, i, j);
}

void multiply(const NarrowPanel& p) {
  constexpr int kStep = kColumnStep / hn::MaxLanes(Floats());  // vectors of a column step
  if constexpr (kStep == 1) {
    if (p.width % (3 * kColumnStep) == 0) {
      for (std::int64_t j = 0; j < p.width; j += 3 * kColumnStep) rows_of_strip<3>(p, j);
      return;
    }
  }
  for (std::int64_t j = 0; j < p.width; j += kColumnStep) rows_of_strip<kStep>(p, j);
}

}  // namespace

void multiply_bfloat16(const NarrowPanel& p) { multiply(p); }

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(multiply_bfloat16);

void multiply_panel(const NarrowPanel& panel) { HWY_DYNAMIC_DISPATCH(multiply_bfloat16)(panel); }

}  // namespace graphrun
#endif
