// The plain matrix product: packs B block by block and keeps rows of the result in registers. For float64, which oneDNN does
// not support, and for products too small for oneDNN. An element's sum runs over k in order, wherever its block begins.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/plain.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/matmul/product.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kDepth = 128;  // rows of B (along k) packed at once
constexpr std::int64_t kRows = 64;    // rows of the result that share a packed panel
// Loops over rows and vectors are unrolled by pragma: otherwise -O2 keeps their sums in memory.
constexpr std::size_t kVectors = 4;  // per packed row: with kDepth rows at most 32 KiB

template <class T>
using Tag = hn::ScalableTag<T>;

// C [rows, columns] = A B, with strides for every element, so that any factor may be transposed.
template <class T>
struct Strided {
  const T* a;
  const T* b;
  T* c;
  std::int64_t rows, columns, k;
  std::int64_t a_row, a_k, b_k, b_column, c_row;
  bool accumulate;
};

// Adds to (or starts) R rows of the result from row i, `width` columns from column j, with one packed block of B.
template <class T, int R>
HWY_INLINE void rows_of_block(const Strided<T>& s, std::int64_t i, std::int64_t j, std::int64_t width, std::int64_t k,
                              const T* packed, std::int64_t depth) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  using V = hn::Vec<Tag<T>>;
  V sum[R][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const T* a = s.a + i * s.a_row + k * s.a_k;
  for (std::int64_t p = 0; p < depth; ++p) {
    const T* row = packed + static_cast<std::size_t>(p) * kVectors * lanes;
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const V x = hn::Set(d, a[r * s.a_row + p * s.a_k]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, hn::Load(d, row + v * lanes), sum[r][v]);
    }
  }
  const bool begins = k == 0 && !s.accumulate;
  const bool whole = width == static_cast<std::int64_t>(kVectors * lanes);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    T* out = s.c + (i + r) * s.c_row + j;
    if (whole) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) {
        hn::StoreU(begins ? sum[r][v] : hn::Add(hn::LoadU(d, out + v * lanes), sum[r][v]), d, out + v * lanes);
      }
      continue;
    }
    HWY_ALIGN T result[kVectors * HWY_MAX_BYTES / sizeof(T)];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sum[r][v], d, result + v * lanes);
    for (std::int64_t x = 0; x < width; ++x) {
      out[x] = begins ? result[x] : out[x] + result[x];
    }
  }
}

// Packs rows [k, k + depth) of columns [j, j + width) of B contiguously, padded with zeros to the panel's width.
template <class T>
void pack(const Strided<T>& s, std::int64_t k, std::int64_t depth, std::int64_t j, std::int64_t width, std::int64_t panel,
          T* packed) {
  for (std::int64_t q = 0; q < depth; ++q) {
    T* row = packed + q * panel;
    const T* from = s.b + (k + q) * s.b_k + j * s.b_column;
    if (s.b_column == 1) {
      std::copy_n(from, width, row);
    } else {
      for (std::int64_t x = 0; x < width; ++x) row[x] = from[x * s.b_column];
    }
    std::fill(row + width, row + panel, T{0});
  }
}

// Processes rows and k in groups, so that the data that panels share stays in the second-level cache and in few pages.
template <class T>
void multiply_strided(const Strided<T>& s) {
  const auto panel = static_cast<std::int64_t>(kVectors * hn::Lanes(Tag<T>()));
  HWY_ALIGN T packed[kDepth * kVectors * HWY_MAX_BYTES / sizeof(T)];
  for (std::int64_t group = 0; group < s.rows; group += kRows) {
    const std::int64_t last = std::min(group + kRows, s.rows);
    for (std::int64_t k = 0; k < s.k; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, s.k - k);
      for (std::int64_t j = 0; j < s.columns; j += panel) {
        const std::int64_t width = std::min(panel, s.columns - j);
        pack(s, k, depth, j, width, panel, packed);
        std::int64_t i = group;
        for (; i + 4 <= last; i += 4) rows_of_block<T, 4>(s, i, j, width, k, packed, depth);
        for (; i < last; ++i) rows_of_block<T, 1>(s, i, j, width, k, packed, depth);
      }
    }
  }
}

template <class T>
void multiply_block(const MatrixProduct& p, const ProductBlock& at, const T* a, const T* b, T* c) {
  Strided<T> s;
  s.rows = at.rows, s.columns = at.columns, s.k = p.k;
  s.a_row = p.transpose_a ? 1 : p.k, s.a_k = p.transpose_a ? p.m : 1;
  s.b_k = p.transpose_b ? 1 : p.n, s.b_column = p.transpose_b ? p.k : 1;
  s.c_row = p.n;
  s.accumulate = p.accumulate;
  s.a = a + at.row * s.a_row, s.b = b + at.column * s.b_column, s.c = c + at.row * s.c_row + at.column;
  if (p.k == 0 && p.accumulate) return;
  if (p.k == 0) {
    for (std::int64_t i = 0; i < s.rows; ++i) std::fill_n(s.c + i * s.c_row, s.columns, T{0});
    return;
  }
  multiply_strided(s);
}

}  // namespace

void multiply_float(const MatrixProduct& p, const ProductBlock& at, const float* a, const float* b, float* c) {
  multiply_block(p, at, a, b, c);
}
void multiply_double(const MatrixProduct& p, const ProductBlock& at, const double* a, const double* b, double* c) {
  multiply_block(p, at, a, b, c);
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(multiply_float);
HWY_EXPORT(multiply_double);

void multiply_plainly(const MatrixProduct& p, const ProductBlock& at, const float* a, const float* b, float* c) {
  HWY_DYNAMIC_DISPATCH(multiply_float)(p, at, a, b, c);
}
void multiply_plainly(const MatrixProduct& p, const ProductBlock& at, const double* a, const double* b, double* c) {
  HWY_DYNAMIC_DISPATCH(multiply_double)(p, at, a, b, c);
}

}  // namespace graphrun
#endif
