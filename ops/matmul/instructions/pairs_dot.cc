#include "ops/matmul/instructions/pairs_dot.h"

#include <cstring>
#include <iterator>

#include "runtime/base/processor.h"
#include "runtime/base/status.h"

#if defined(__x86_64__)
// GCC 12 warns about a variable that its own header leaves undefined on purpose (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#endif

namespace graphrun {

#if defined(__x86_64__)

#define GRAPHRUN_PAIR_DOTS __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace {

constexpr std::int64_t kDotLanes = 16, kDotRows = 8;  // the sums of eight rows and three vectors fill the registers
constexpr std::int64_t kDotAhead = 4096;              // how far ahead the panel is prefetched, in bytes
constexpr __mmask16 kAllLanes = 0xFFFF;

// R rows from row i times all columns, which are V vectors; `last` tells which lanes of the last vector there are.
template <int R, int V, bool prefetch>
GRAPHRUN_PAIR_DOTS void multiply_dots(const PairBlock& b, std::int64_t i, __mmask16 last) {
  const std::int64_t pairs = b.terms / 2;
  const auto* const rows = b.rows + i * b.terms;
  const auto* columns = b.panel;
  float* const sums = b.sums + i * b.sums_row;
  __m512 sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  if (b.adds) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) {
        sum[r][v] = _mm512_maskz_loadu_ps(v + 1 < V ? kAllLanes : last, sums + r * b.sums_row + v * kDotLanes);
      }
    }
  }
  for (std::int64_t k = 0; k < pairs; ++k, columns += 2 * b.width) {
    __m512bh w[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) {
      const __mmask16 there = v + 1 < V ? kAllLanes : last;
      w[v] = reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi32(there, columns + v * 2 * kDotLanes));
      if constexpr (prefetch) _mm_prefetch(reinterpret_cast<const char*>(columns + v * 2 * kDotLanes) + kDotAhead, _MM_HINT_T0);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      int pair = 0;
      std::memcpy(&pair, rows + r * b.terms + 2 * k, sizeof pair);
      const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], x, w[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) {
      const __mmask16 there = v + 1 < V ? kAllLanes : last;
      _mm512_mask_storeu_ps(sums + r * b.sums_row + v * kDotLanes, there, sum[r][v]);
    }
  }
}

template <int V, bool prefetch>
void multiply_dot_vectors(const PairBlock& b) {
  using Multiply = void (*)(const PairBlock&, std::int64_t, __mmask16);
  static constexpr Multiply kOfRows[] = {multiply_dots<1, V, prefetch>, multiply_dots<2, V, prefetch>,
                                         multiply_dots<3, V, prefetch>, multiply_dots<4, V, prefetch>,
                                         multiply_dots<5, V, prefetch>, multiply_dots<6, V, prefetch>,
                                         multiply_dots<7, V, prefetch>, multiply_dots<8, V, prefetch>};
  static_assert(std::size(kOfRows) == kDotRows);
  const auto last = static_cast<__mmask16>(kAllLanes >> (V * kDotLanes - b.width));
  const std::int64_t strips = (b.count + kDotRows - 1) / kDotRows;
  for (std::int64_t s = 0, row = 0; s < strips; ++s) {
    const std::int64_t end = b.count * (s + 1) / strips;
    kOfRows[end - row - 1](b, row, last);
    row = end;
  }
}

template <bool prefetch>
void multiply_dot_columns(const PairBlock& b) {
  if (b.width <= kDotLanes) return multiply_dot_vectors<1, prefetch>(b);
  b.width <= 2 * kDotLanes ? multiply_dot_vectors<2, prefetch>(b) : multiply_dot_vectors<3, prefetch>(b);
}

}  // namespace

void multiply_pairs_by_dots(const PairBlock& b) {
  static_assert(kMostOfPairBlock == 3 * kDotLanes);
  if (b.count <= kDotRows && gains_from_prefetching()) return multiply_dot_columns<true>(b);
  multiply_dot_columns<false>(b);
}

#else

void multiply_pairs_by_dots(const PairBlock&) { throw InternalError("this processor has no AVX512_BF16"); }

#endif

}  // namespace graphrun
