// The plain matrix product: tiles of the result in registers, from factors where they are in memory, or from copied columns of
// B. Every element's sum adds its terms one after the other, so it does not depend on how a product is divided.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/plain.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"
#include "ops/matmul/panels_simd.h"
#include "ops/matmul/product.h"
#include "ops/vector-inl.h"
#include "runtime/base/processor.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {

template <class T>
constexpr std::int64_t kLanes = hn::MaxLanes(Tag<T>());

constexpr std::size_t kSums = kLanes<float> >= 16 ? 24 : 12;  // registers that hold sums, of 32 or 16
constexpr std::size_t kVectors = 3;                           // of a tile's columns
// The most rows and terms that are multiplied before the next ones: more would fall out of the cache.
constexpr std::int64_t kRows = 192, kTerms = 256;
// The terms of a tile of B should lie in so few bytes that a core knows the addresses of their pages.
constexpr std::int64_t kBytesOfTerms = 256 << 10, kFewestTerms = 64;
constexpr std::size_t most_rows(std::size_t vectors) { return std::min<std::size_t>(kSums / vectors, 12); }

// A tile of C [rows, columns] += A B over some terms; elements of A have a stride for each axis, so that it may be transposed.
template <class T>
struct Tile {
  const T *a, *b;
  T* c;
  std::int64_t a_row, a_term, b_row, c_row;
  std::int64_t rows, columns, terms;
  bool adds;        // to C, instead of overwriting it
  bool prefetches;  // columns of B
};

// R rows and V vectors of columns: `whole`, or the last one in part. `prefetch`: the columns after these.
template <class T, std::size_t R, std::size_t V, bool whole, bool prefetch>
HWY_NOINLINE void multiply_strip(const Tile<T>& t) {
  const Tag<T> d;
  const std::size_t rest = static_cast<std::size_t>(t.columns) - (V - 1) * hn::Lanes(d);
  // Below AVX2, masked accesses touch memory that is masked off.
  constexpr bool masks = HWY_TARGET <= HWY_AVX2;
  const auto last = hn::FirstN(d, rest);
  const auto load = [&](const T* from, std::size_t v) HWY_ATTR {
    from += v * hn::Lanes(d);
    if (whole || v + 1 < V) return hn::LoadU(d, from);
    return masks ? hn::MaskedLoad(last, d, from) : load_first<T>(from, rest).v;
  };
  // Loops over rows and vectors are unrolled by pragma: otherwise -O2 keeps their sums in memory.
  hn::Vec<Tag<T>> sum[R][V];
  const T* row[R];
#pragma GCC unroll 12
  for (std::size_t r = 0; r < R; ++r) {
    row[r] = t.a + static_cast<std::int64_t>(r) * t.a_row;
#pragma GCC unroll 3
    for (std::size_t v = 0; v < V; ++v) sum[r][v] = hn::Zero(d);
  }
  if (t.adds) {
#pragma GCC unroll 12
    for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) sum[r][v] = load(t.c + static_cast<std::int64_t>(r) * t.c_row, v);
    }
  }
  const T* b = t.b;
  std::int64_t at = 0;
  for (std::int64_t k = 0; k < t.terms; ++k, b += t.b_row, at += t.a_term) {
    hn::Vec<Tag<T>> w[V];
#pragma GCC unroll 3
    for (std::size_t v = 0; v < V; ++v) {
      w[v] = load(b, v);
      if constexpr (prefetch) __builtin_prefetch(b + (V + v) * hn::Lanes(d), 0, 3);
    }
#pragma GCC unroll 12
    for (std::size_t r = 0; r < R; ++r) {
      const hn::Vec<Tag<T>> x = hn::Set(d, row[r][at]);
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(x, w[v], sum[r][v]);
    }
  }
#pragma GCC unroll 12
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 3
    for (std::size_t v = 0; v < V; ++v) {
      T* const to = t.c + static_cast<std::int64_t>(r) * t.c_row + v * hn::Lanes(d);
      if (whole || v + 1 < V) {
        hn::StoreU(sum[r][v], d, to);
      } else if (masks) {
        hn::BlendedStore(sum[r][v], last, d, to);
      } else {
        store_first<T>(sum[r][v], to, rest);
      }
    }
  }
}

// Strips of nearly equal height. The first one prefetches.
template <class T, std::size_t V, bool whole, std::size_t... i>
void multiply_strips(Tile<T> t, std::index_sequence<i...>) {
  using Multiply = void (*)(const Tile<T>&);
  constexpr std::array<Multiply, sizeof...(i)> kLater = {multiply_strip<T, i + 1, V, whole, false>...},
                                               kFirst = {multiply_strip<T, i + 1, V, whole, whole>...};
  constexpr auto kMost = static_cast<std::int64_t>(sizeof...(i));
  const std::int64_t strips = (t.rows + kMost - 1) / kMost;
  for (std::int64_t s = 0; s < strips; ++s) {
    const std::int64_t count = t.rows * (s + 1) / strips - t.rows * s / strips;
    (s == 0 && t.prefetches ? kFirst : kLater)[static_cast<std::size_t>(count - 1)](t);
    t.a += count * t.a_row, t.c += count * t.c_row;
  }
}
template <class T, std::size_t V, bool whole = false>
void multiply_strips(const Tile<T>& t) {
  multiply_strips<T, V, whole>(t, std::make_index_sequence<most_rows(V)>());
}

template <class T>
void multiply_tile(const Tile<T>& t) {
  if (t.columns == 3 * kLanes<T>) return multiply_strips<T, 3, true>(t);
  if (t.columns > 2 * kLanes<T>) return multiply_strips<T, 3>(t);
  t.columns > kLanes<T> ? multiply_strips<T, 2>(t) : multiply_strips<T, 1>(t);
}

// Copies columns of a transposed B, one term after the other.
template <class T>
void copy_columns(const T* from, std::int64_t from_row, std::int64_t columns, std::int64_t terms, T* to, std::int64_t to_row) {
  if constexpr (std::is_same_v<T, float>) {
    copy_transposed({from, to, from_row, to_row, columns, terms});
  } else {
    for (std::int64_t k = 0; k < terms; ++k) {
      for (std::int64_t j = 0; j < columns; ++j) to[k * to_row + j] = from[j * from_row + k];
    }
  }
}

template <class T>
void multiply_block(const MatrixProduct& p, const ProductBlock& at, const T* a, const T* b, T* c) {
  constexpr std::int64_t kColumns = kVectors * kLanes<T>;
  HWY_ALIGN T copied[kTerms * kColumns];
  const std::int64_t row_bytes = std::max<std::int64_t>(p.n, 1) * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t most = p.transpose_b ? kTerms : std::clamp(kBytesOfTerms / row_bytes, kFewestTerms, kTerms);
  const std::int64_t row_runs = (at.rows + kRows - 1) / kRows, term_runs = std::max<std::int64_t>(1, (p.k + most - 1) / most);
  Tile<T> t;
  t.a_row = p.transpose_a ? 1 : p.k, t.a_term = p.transpose_a ? p.m : 1, t.c_row = p.n;
  t.b_row = p.transpose_b ? kColumns : p.n, t.prefetches = !p.transpose_b && gains_from_prefetching();
  for (std::int64_t i = 0; i < row_runs * term_runs; ++i) {
    const std::int64_t r = i / term_runs, s = i % term_runs;
    const std::int64_t row = at.row + at.rows * r / row_runs, term = p.k * s / term_runs;
    t.rows = at.row + at.rows * (r + 1) / row_runs - row, t.terms = p.k * (s + 1) / term_runs - term;
    t.adds = p.accumulate || s > 0;
    t.a = a + row * t.a_row + term * t.a_term;
    for (std::int64_t j = at.column; j < at.column + at.columns; j += kColumns) {
      t.columns = std::min(kColumns, at.column + at.columns - j), t.c = c + row * p.n + j;
      t.b = p.transpose_b ? copied : b + term * p.n + j;
      if (p.transpose_b) copy_columns(b + j * p.k + term, p.k, t.columns, t.terms, copied, kColumns);
      multiply_tile(t);
    }
  }
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
