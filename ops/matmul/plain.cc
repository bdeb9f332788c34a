// The plain matrix product: B packed block by block, rows of the result in registers. It serves float64, which oneDNN has not,
// and products too small for oneDNN. An element's sum runs over k in order, wherever its block begins.
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

constexpr std::int64_t kDepth = 128;  // of k packed at once
constexpr std::size_t kVectors = 4;   // of a packed row: with kDepth 32 KiB at most

template <class T>
using Tag = hn::ScalableTag<T>;

// Adds to (or begins) R rows of the result, `width` columns from one packed block of B. a(r, p) = a[r * row_step + p * k_step].
template <class T, int R>
HWY_INLINE void rows_of_block(const T* a, std::int64_t row_step, std::int64_t k_step, const T* packed, std::int64_t depth, T* c,
                              std::int64_t c_row, std::int64_t width, bool first) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  using V = hn::Vec<Tag<T>>;
  V sum[R][kVectors];
  for (int r = 0; r < R; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    const T* row = packed + static_cast<std::size_t>(p) * kVectors * lanes;
    for (int r = 0; r < R; ++r) {
      const V x = hn::Set(d, a[r * row_step + p * k_step]);
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, hn::Load(d, row + v * lanes), sum[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    HWY_ALIGN T result[kVectors * HWY_MAX_BYTES / sizeof(T)];
    for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sum[r][v], d, result + v * lanes);
    T* out = c + r * c_row;
    if (first) {
      std::copy_n(result, width, out);
    } else {
      for (std::int64_t j = 0; j < width; ++j) out[j] += result[j];
    }
  }
}

template <class T>
void multiply_block(const Product& p, const ProductBlock& at, const T* a, const T* b, T* c) {
  const std::int64_t panel = static_cast<std::int64_t>(kVectors * hn::Lanes(Tag<T>()));
  const std::int64_t a_row_step = p.transpose_a ? 1 : p.k, a_k_step = p.transpose_a ? p.m : 1;
  const std::int64_t b_k_step = p.transpose_b ? 1 : p.n, b_column_step = p.transpose_b ? p.k : 1;
  if (p.k == 0) {
    for (std::int64_t i = at.row; i < at.row + at.rows; ++i) std::fill_n(c + i * p.n + at.column, at.columns, T{0});
    return;
  }
  HWY_ALIGN T packed[kDepth * kVectors * HWY_MAX_BYTES / sizeof(T)];
  for (std::int64_t j = at.column, end = at.column + at.columns; j < end; j += panel) {
    const std::int64_t width = std::min(panel, end - j);
    for (std::int64_t k = 0; k < p.k; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, p.k - k);
      for (std::int64_t q = 0; q < depth; ++q) {
        T* row = packed + q * panel;
        const T* from = b + (k + q) * b_k_step + j * b_column_step;
        for (std::int64_t x = 0; x < width; ++x) row[x] = from[x * b_column_step];
        std::fill(row + width, row + panel, T{0});
      }
      std::int64_t i = at.row;
      const std::int64_t last = at.row + at.rows;
      const auto rows = [&](auto count) HWY_ATTR {
        rows_of_block<T, count()>(a + i * a_row_step + k * a_k_step, a_row_step, a_k_step, packed, depth, c + i * p.n + j, p.n,
                                  width, k == 0);
        i += count();
      };
      while (i + 4 <= last) rows(std::integral_constant<int, 4>());
      while (i < last) rows(std::integral_constant<int, 1>());
    }
  }
}

}  // namespace

void multiply_float(const Product& p, const ProductBlock& at, const float* a, const float* b, float* c) {
  multiply_block(p, at, a, b, c);
}
void multiply_double(const Product& p, const ProductBlock& at, const double* a, const double* b, double* c) {
  multiply_block(p, at, a, b, c);
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(multiply_float);
HWY_EXPORT(multiply_double);

void multiply_plainly(const Product& p, const ProductBlock& at, const float* a, const float* b, float* c) {
  HWY_DYNAMIC_DISPATCH(multiply_float)(p, at, a, b, c);
}
void multiply_plainly(const Product& p, const ProductBlock& at, const double* a, const double* b, double* c) {
  HWY_DYNAMIC_DISPATCH(multiply_double)(p, at, a, b, c);
}

}  // namespace graphrun
#endif
