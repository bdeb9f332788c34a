#include "ops/matmul/instructions/int8_dot.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/matmul/instructions/amx.h"
#include "runtime/base/processor.h"
#include "runtime/program/kernel.h"

#if defined(__x86_64__)
// GCC 12 warns of values that its own header leaves undefined on purpose (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#endif

namespace graphrun {
namespace {

void multiply_plainly(const Int8Panel& p, std::int32_t* sums) {
  for (std::int64_t r = 0; r < p.count; ++r) {
    const std::uint8_t* const row = p.rows + r * kInt8Quad * p.quads;
    std::int32_t* const out = sums + r * p.width;
    std::copy_n(p.offsets, p.width, out);
    for (std::int64_t k = 0; k < kInt8Quad * p.quads; ++k) {
      const std::int8_t* const columns = p.columns + k / kInt8Quad * p.width * kInt8Quad + k % kInt8Quad;
      for (std::int64_t j = 0; j < p.width; ++j) out[j] += row[k] * columns[j * kInt8Quad];
    }
  }
}

#if defined(__x86_64__)

constexpr std::size_t kAhead = 6144;  // how far ahead the panel is prefetched, in bytes

std::int32_t quad_of(const Int8Panel& p, std::int64_t row, std::int64_t quad) {
  std::int32_t bits;
  std::memcpy(&bits, p.rows + (row * p.quads + quad) * kInt8Quad, sizeof bits);
  return bits;
}

#define GRAPHRUN_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

// R rows from row i, C times 16 columns from column j, which are prefetched or not. Each sum is split into `chains`
// independent ones, which hide the latency of the instruction where there are few.
template <int R, int C, int chains, bool prefetch>
GRAPHRUN_VNNI void strip_vnni(const Int8Panel& p, std::int32_t* sums, std::int64_t i, std::int64_t j) {
  __m512i sum[chains][R][C];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      sum[0][r][c] = _mm512_loadu_si512(p.offsets + j + c * kColumnStep);
#pragma GCC unroll 4
      for (int s = 1; s < chains; ++s) sum[s][r][c] = _mm512_setzero_si512();
    }
  }
  const std::int8_t* at = p.columns + j * kInt8Quad;
  const auto add = [&](std::int64_t quad, __m512i(&to)[R][C]) GRAPHRUN_VNNI {
    const std::int8_t* const here = at + quad * p.width * kInt8Quad;
    __m512i w[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      w[c] = _mm512_loadu_si512(here + c * kColumnStep * kInt8Quad);
      if constexpr (prefetch) {
        _mm_prefetch(reinterpret_cast<const char*>(here + c * kColumnStep * kInt8Quad) + kAhead, _MM_HINT_T0);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const __m512i x = _mm512_set1_epi32(quad_of(p, i + r, quad));
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) to[r][c] = _mm512_dpbusd_epi32(to[r][c], x, w[c]);
    }
  };
  for (std::int64_t quad = 0; quad < p.quads; quad += chains) {
#pragma GCC unroll 4
    for (int s = 0; s < chains; ++s) add(quad + s, sum[s]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
#pragma GCC unroll 4
      for (int s = 1; s < chains; ++s) sum[0][r][c] = _mm512_add_epi32(sum[0][r][c], sum[s][r][c]);
      _mm512_storeu_si512(sums + (i + r) * p.width + j + c * kColumnStep, sum[0][r][c]);
    }
  }
}

template <int C, bool prefetch>
GRAPHRUN_VNNI void rows_vnni(const Int8Panel& p, std::int32_t* sums, std::int64_t j) {
  std::int64_t i = 0;
  for (; i + 8 <= p.count; i += 8) strip_vnni<8, C, 1, prefetch>(p, sums, i, j);
  for (; i + 4 <= p.count; i += 4) strip_vnni<4, C, C == 1 ? 2 : 1, prefetch>(p, sums, i, j);
  for (; i + 2 <= p.count; i += 2) strip_vnni<2, C, C == 1 ? 4 : 2, prefetch>(p, sums, i, j);
  for (; i < p.count; ++i) strip_vnni<1, C, 4, prefetch>(p, sums, i, j);
}

template <bool prefetch>
GRAPHRUN_VNNI void columns_vnni(const Int8Panel& p, std::int32_t* sums) {
  std::int64_t j = 0;
  for (; j + 3 * kColumnStep <= p.width; j += 3 * kColumnStep) rows_vnni<3, prefetch>(p, sums, j);
  for (; j < p.width; j += kColumnStep) rows_vnni<1, prefetch>(p, sums, j);
}

void multiply_vnni(const Int8Panel& p, std::int32_t* sums) {
  gains_from_prefetching() ? columns_vnni<true>(p, sums) : columns_vnni<false>(p, sums);
}

// ---- AMX (ops/matmul/instructions/amx.h). A tile of rows holds 16 rows of 64 terms, a tile of columns 64 terms of 16 columns
// in the order of a panel, a tile of sums 16 by 16 sums.

#define GRAPHRUN_AMX __attribute__((target("amx-tile,amx-int8,avx512f")))

static_assert(kTile == kColumnStep && kTile * kInt8Quad == kInt8Step);
// Fewer rows are faster with VNNI.
constexpr std::int64_t kLeastTileRows = 8;

// C tiles of columns from column j, two tiles of rows from row i or one of them: 16 rows `above`, and `below` as many as
// shapes_for configures. Tiles are named by literals: sums above are in tiles 0 and 1, below in 2 and 3, rows in 4 and 5,
// columns in 6 and 7.
template <bool above, bool below, int C>
GRAPHRUN_AMX void block_amx(const Int8Panel& p, std::int32_t* sums, std::int64_t i, std::int64_t j) {
  const std::int64_t terms = p.quads * kInt8Quad, panel_row = p.width * kInt8Quad, second_row = above ? kTile : 0;
  const std::uint8_t* rows = p.rows + i * terms;
  const std::int8_t* columns = p.columns + j * kInt8Quad;
  // With a stride of 0, all rows of a tile are the same.
  if constexpr (above) _tile_loadd(0, p.offsets + j, 0);
  if constexpr (above && C == 2) _tile_loadd(1, p.offsets + j + kTile, 0);
  if constexpr (below) _tile_loadd(2, p.offsets + j, 0);
  if constexpr (below && C == 2) _tile_loadd(3, p.offsets + j + kTile, 0);
  for (std::int64_t k = 0; k < terms; k += kInt8Step, rows += kInt8Step, columns += kTile * panel_row) {
    if (i == 0 && j == 0) {  // prefetch all columns of the panel, which the other blocks then find in the cache
      const auto* next = reinterpret_cast<const char*>(columns) + kAhead;
      for (std::int64_t line = 0; line < kTile * panel_row; line += 64) _mm_prefetch(next + line, _MM_HINT_T0);
    }
    _tile_loadd(6, columns, panel_row);
    if constexpr (above) _tile_loadd(4, rows, terms);
    if constexpr (above) _tile_dpbusd(0, 4, 6);
    if constexpr (C == 2) _tile_loadd(7, columns + kInt8Step, panel_row);
    if constexpr (above && C == 2) _tile_dpbusd(1, 4, 7);
    if constexpr (below) _tile_loadd(5, rows + second_row * terms, terms);
    if constexpr (below) _tile_dpbusd(2, 5, 6);
    if constexpr (below && C == 2) _tile_dpbusd(3, 5, 7);
  }
  std::int32_t *const upper = sums + i * p.width + j, *const lower = upper + second_row * p.width;
  const std::int64_t sum_row = p.width * static_cast<std::int64_t>(sizeof(std::int32_t));
  if constexpr (above) _tile_stored(0, upper, sum_row);
  if constexpr (above && C == 2) _tile_stored(1, upper + kTile, sum_row);
  if constexpr (below) _tile_stored(2, lower, sum_row);
  if constexpr (below && C == 2) _tile_stored(3, lower + kTile, sum_row);
}

template <bool above, bool below>
GRAPHRUN_AMX void rows_amx(const Int8Panel& p, std::int32_t* sums, std::int64_t i) {
  std::int64_t j = 0;
  for (; j + 2 * kTile <= p.width; j += 2 * kTile) block_amx<above, below, 2>(p, sums, i, j);
  if (j < p.width) block_amx<above, below, 1>(p, sums, i, j);
}

// Tiles `below` have this many rows.
TileShapes shapes_for(std::int64_t rows) {
  TileShapes shapes;
  shapes.rows[2] = shapes.rows[3] = shapes.rows[5] = static_cast<std::uint8_t>(rows);
  return shapes;
}

GRAPHRUN_AMX void multiply_amx(const Int8Panel& p, std::int32_t* sums) {
  if (p.count < kLeastTileRows) return multiply_vnni(p, sums);
  const std::int64_t rest = p.count % (2 * kTile), whole = p.count - rest;  // rows of two full tiles each, and the others
  if (whole > 0) {
    const TileShapes shapes = shapes_for(kTile);
    flush_before_tiles();
    _tile_loadconfig(&shapes);
    for (std::int64_t i = 0; i < whole; i += 2 * kTile) rows_amx<true, true>(p, sums, i);
  }
  if (rest > 0) {
    const TileShapes shapes = shapes_for(rest > kTile ? rest - kTile : rest);
    flush_before_tiles();
    _tile_loadconfig(&shapes);
    if (rest > kTile) {
      rows_amx<true, true>(p, sums, whole);
    } else {
      rows_amx<false, true>(p, sums, whole);
    }
  }
  _tile_release();
}

#define GRAPHRUN_AVX2 __attribute__((target("avx2")))

// R rows from row i, 16 columns from column j, in two halves. |row| · (column with the row's sign) is at most 127 · 127,
// so that pairs of them stay within int16.
template <int R>
GRAPHRUN_AVX2 void strip_avx2(const Int8Panel& p, std::int32_t* sums, std::int64_t i, std::int64_t j) {
  const __m256i zero = _mm256_set1_epi8(static_cast<char>(kInt8Zero)), ones = _mm256_set1_epi16(1);
  __m256i sum[R][2];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  const std::int8_t* at = p.columns + j * kInt8Quad;
  for (std::int64_t quad = 0; quad < p.quads; ++quad, at += p.width * kInt8Quad) {
    _mm_prefetch(reinterpret_cast<const char*>(at) + kAhead, _MM_HINT_T0);
    const __m256i w[2] = {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at) + 1)};
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m256i x = _mm256_xor_si256(_mm256_set1_epi32(quad_of(p, i + r, quad)), zero), size = _mm256_abs_epi8(x);
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(w[h], x));
        sum[r][h] = _mm256_add_epi32(sum[r][h], _mm256_madd_epi16(pairs, ones));
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    __m256i* const out = reinterpret_cast<__m256i*>(sums + (i + r) * p.width + j);
    _mm256_storeu_si256(out, sum[r][0]);
    _mm256_storeu_si256(out + 1, sum[r][1]);
  }
}

GRAPHRUN_AVX2 void multiply_avx2(const Int8Panel& p, std::int32_t* sums) {
  for (std::int64_t j = 0; j < p.width; j += kColumnStep) {
    std::int64_t i = 0;
    for (; i + 4 <= p.count; i += 4) strip_avx2<4>(p, sums, i, j);
    for (; i < p.count; ++i) strip_avx2<1>(p, sums, i, j);
  }
}

#endif

}  // namespace

std::span<const Int8Set> int8_sets() {
  static const std::vector<Int8Set> sets = [] {
    std::vector<Int8Set> all = {Int8Set::kPlain};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) all.push_back(Int8Set::kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni")) {
      all.push_back(Int8Set::kVnni);
      if (amx_multiplies_int8()) all.push_back(Int8Set::kAmx);
    }
#endif
    return all;
  }();
  return sets;
}

void multiply_int8(const Int8Panel& panel, std::int32_t* sums, [[maybe_unused]] Int8Set set) {
#if defined(__x86_64__)
  if (set == Int8Set::kAmx) return multiply_amx(panel, sums);
  if (set == Int8Set::kVnni) return multiply_vnni(panel, sums);
  if (set == Int8Set::kAvx2) return multiply_avx2(panel, sums);
#endif
  multiply_plainly(panel, sums);
}

}  // namespace graphrun
