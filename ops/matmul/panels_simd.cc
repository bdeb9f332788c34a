#include "ops/matmul/panels_simd.h"

#include <algorithm>
#include <iterator>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/panels_simd.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"
#include "ops/matmul/product.h"
#include "runtime/base/processor.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

constexpr std::int64_t kLanes = hn::MaxLanes(Floats());
constexpr bool kManyRegisters = kLanes >= 16;                 // uses 32, otherwise 16
constexpr std::int64_t kMostRows = kManyRegisters ? 8 : 6;    // rows that are multiplied at once
constexpr std::int64_t kMostSums = kManyRegisters ? 24 : 12;  // registers that hold sums
constexpr std::int64_t kMostVectors = kMostSums / kMostRows;  // vectors of a panel that are multiplied at once
constexpr std::int64_t kTermsAtOnce = 8;                      // between two points where the next panel is prefetched
constexpr std::int64_t kLine = 64;                            // bytes of a cache line
// How far ahead to prefetch panels that are multiplied together, in bytes, where that gains (runtime/base/processor.h).
constexpr std::int64_t kPanelsAhead = 4096;

// Whether the sums of so many rows, vectors and panels fit.
constexpr bool fits(std::int64_t rows, std::int64_t vectors, std::int64_t panels) {
  return rows <= kMostRows / 2 && rows * vectors * panels <= kMostSums;
}

HWY_INLINE hn::Vec<Floats> loaded(const float* from) { return hn::LoadU(Floats(), from); }
HWY_INLINE hn::Vec<Floats> loaded(const std::uint16_t* from) {
  const hn::Rebind<std::uint16_t, Floats> narrow;
  const hn::Rebind<std::uint32_t, Floats> whole;
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(whole, hn::LoadU(narrow, from))));
}

// A block of the result, and what to prefetch while it is computed.
struct Block {
  std::int64_t row = 0, column = 0;  // its first row, and its first column in each panel
  const char* next = nullptr;        // a part of the next panel
  std::int64_t lines = 0;            // how many of its cache lines to prefetch for every kTermsAtOnce terms
};

// R rows, and V vectors of columns in each of P panels of W columns, which are prefetched or not.
template <int R, int V, int P, int W, bool prefetch, class T>
HWY_NOINLINE void multiply_block(const PanelTask<T>& task, const Block& block) {
  const Floats d;
  const float* row[R];
  const T* from[P];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) row[r] = task.rows + (block.row + r) * task.rows_row;
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) from[p] = task.columns + p * task.terms * W + block.column;
  float* const sums = task.sums + block.row * task.sums_row + block.column;
  const auto at = [&](int r, int p, int v) HWY_ATTR { return sums + r * task.sums_row + p * W + v * kLanes; };
  hn::Vec<Floats> sum[R][P][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) {
        // Stores at the end would wait for lines that are not cached.
        if (!task.adds) __builtin_prefetch(at(r, p, v), 1, 3);
        sum[r][p][v] = task.adds ? hn::LoadU(d, at(r, p, v)) : hn::Zero(d);
      }
    }
  }
  const auto add_term = [&](int k) HWY_ATTR {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      hn::Vec<Floats> w[V];
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) {
        const T* const here = from[p] + k * W + v * kLanes;
        w[v] = loaded(here);
        if constexpr (prefetch) __builtin_prefetch(reinterpret_cast<const char*>(here) + kPanelsAhead, 0, 3);
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const hn::Vec<Floats> x = hn::Set(d, row[r][k]);
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) sum[r][p][v] = hn::MulAdd(x, w[v], sum[r][p][v]);
      }
    }
  };
  const auto advance = [&](int terms) HWY_ATTR {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) row[r] += terms;
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) from[p] += terms * W;
  };
  const char* next = block.next;
  std::int64_t left = task.terms;
  for (; left >= kTermsAtOnce; left -= kTermsAtOnce) {
    for (std::int64_t line = 0; line < block.lines; ++line, next += kLine) __builtin_prefetch(next, 0, 2);
#pragma GCC unroll 8
    for (int k = 0; k < kTermsAtOnce; ++k) add_term(k);
    advance(kTermsAtOnce);
  }
  for (; left > 0; --left) {
    add_term(0);
    advance(1);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) {
        hn::StoreU(sum[r][p][v], d, at(r, p, v));
      }
    }
  }
}

template <int R, int V, int P, int W, class T>
void multiply_panels_together(const PanelTask<T>& task, const Block& block) {
  if (gains_from_prefetching()) return multiply_block<R, V, P, W, true>(task, block);
  multiply_block<R, V, P, W, false>(task, block);
}

template <int R, int V, int W, class T>
void multiply_some_panels(const PanelTask<T>& task, const Block& block) {
  if constexpr (fits(R, V, 4)) {
    if (task.panels == 4) return multiply_panels_together<R, V, 4, W>(task, block);
  }
  if constexpr (fits(R, V, 2)) {
    if (task.panels == 2) return multiply_panels_together<R, V, 2, W>(task, block);
  }
  multiply_block<R, V, 1, W, false>(task, block);
}

// All rows times V vectors of columns in each panel. The blocks, of nearly equal height, take turns in prefetching, so that
// memory is read all the time; the first one is number `first` of `blocks`.
template <int V, int W, class T>
void multiply_columns(const PanelTask<T>& task, std::int64_t column, std::int64_t first, std::int64_t blocks) {
  using Multiply = void (*)(const PanelTask<T>&, const Block&);
  static constexpr Multiply kOfRows[] = {
    multiply_some_panels<1, V, W, T>,
    multiply_some_panels<2, V, W, T>,
    multiply_some_panels<3, V, W, T>,
    multiply_some_panels<4, V, W, T>,
    multiply_some_panels<5, V, W, T>,
    multiply_some_panels<6, V, W, T>,
#if HWY_TARGET <= HWY_AVX3
    multiply_some_panels<7, V, W, T>,
    multiply_some_panels<8, V, W, T>,
#endif
  };
  static_assert(std::size(kOfRows) == kMostRows);
  const std::int64_t strips = (task.count + kMostRows - 1) / kMostRows;
  const std::int64_t lines = kTermsAtOnce * W * static_cast<std::int64_t>(sizeof(T)) / kLine;
  const std::int64_t share = task.next == nullptr || task.panels > 1 ? 0 : (lines + blocks - 1) / blocks;
  Block block;
  block.column = column;
  for (std::int64_t i = 0; i < strips; ++i) {
    const std::int64_t end = task.count * (i + 1) / strips, before = (first + i) * share;
    block.lines = std::clamp<std::int64_t>(lines - before, 0, share);
    block.next = reinterpret_cast<const char*>(task.next) + task.terms / kTermsAtOnce * before * kLine;
    kOfRows[end - block.row - 1](task, block);
    block.row = end;
  }
}

template <int W, class T>
void multiply_width(const PanelTask<T>& task) {
  constexpr std::int64_t kVectors = W / kLanes, kPieces = (kVectors + kMostVectors - 1) / kMostVectors;
  constexpr std::int64_t kRest = (kVectors - 1) % kMostVectors + 1;  // vectors of the last piece
  const std::int64_t strips = (task.count + kMostRows - 1) / kMostRows;
  if constexpr (kPieces > 1) {
    for (std::int64_t i = 0; i + 1 < kPieces; ++i) {
      multiply_columns<kMostVectors, W>(task, i * kMostVectors * kLanes, i * strips, kPieces * strips);
    }
  }
  multiply_columns<kRest, W>(task, (kPieces - 1) * kMostVectors * kLanes, (kPieces - 1) * strips, kPieces * strips);
}

template <class T>
void multiply(const PanelTask<T>& task);

// A panel with padding: computes all columns, one strip of rows at a time, and copies the real ones.
template <class T>
void multiply_padded(const PanelTask<T>& task) {
  HWY_ALIGN float sums[kMostRows * kMostPanel] = {};
  PanelTask<T> strip = task;
  strip.sums = sums, strip.sums_row = strip.last_columns = task.width;
  const auto copy = [&](float* to, std::int64_t to_row, const float* from, std::int64_t from_row) {
    for (std::int64_t r = 0; r < strip.count; ++r) std::copy_n(from + r * from_row, task.last_columns, to + r * to_row);
  };
  for (std::int64_t row = 0; row < task.count; row += kMostRows) {
    float* const to = task.sums + row * task.sums_row;
    strip.count = std::min(kMostRows, task.count - row);
    strip.rows = task.rows + row * task.rows_row;
    if (task.adds) copy(sums, task.width, to, task.sums_row);
    multiply(strip);
    copy(to, task.sums_row, sums, task.width);
    strip.next = nullptr;
  }
}

template <class T>
void multiply(const PanelTask<T>& task) {
  static_assert(kMostPanel == 3 * kColumnStep);
  if (task.last_columns < task.width) return multiply_padded(task);
  if (task.width == kMostPanel) return multiply_width<kMostPanel>(task);
  task.width == kColumnStep ? multiply_width<kColumnStep>(task) : multiply_width<2 * kColumnStep>(task);
}

#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE void transpose_columns(D, const float* from, std::int64_t, float* to, std::int64_t to_row) {
  for (int j = 0; j < 4; ++j) to[j * to_row] = from[j];
}
#else
// Parts of four numbers, `stride` apart, as one vector.
template <class D>
HWY_INLINE hn::Vec<D> load_parts(D d, const float* from, std::int64_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr std::int64_t kParts = hn::MaxLanes(D()) / 8;
    return hn::Combine(d, load_parts(half, from + kParts * stride, stride), load_parts(half, from, stride));
  }
}

// As many rows as a vector has lanes, four columns of them. A part of a vector holds the columns of one row, then the rows of
// one column.
template <class D>
HWY_INLINE void transpose_columns(D d, const float* from, std::int64_t from_row, float* to, std::int64_t to_row) {
  const hn::Repartition<double, D> pairs;
  const auto a = load_parts(d, from, 4 * from_row), b = load_parts(d, from + from_row, 4 * from_row),
             c = load_parts(d, from + 2 * from_row, 4 * from_row), e = load_parts(d, from + 3 * from_row, 4 * from_row);
  const auto ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)), ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)),
             ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e)), ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)), d, to + to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, to + 2 * to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, to + 3 * to_row);
}
#endif

// The rows of `t` from `row` on, as many at a time as `d` has lanes; returns the first row that is left. Cache line by cache
// line: 16 columns of all rows.
template <class D>
std::int64_t transpose_rows(D d, const TransposedCopy& t, std::int64_t row) {
  constexpr std::int64_t kRows = hn::MaxLanes(D()), kColumns = 4, kStep = kLine / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t end_row = row + (t.rows - row) / kRows * kRows;
  for (std::int64_t begin = 0; begin < t.columns; begin += kStep) {
    const std::int64_t end = std::min(t.columns, begin + kStep), whole = begin + (end - begin) / kColumns * kColumns;
    for (std::int64_t i = row; i < end_row; i += kRows) {
      for (std::int64_t j = begin; j < whole; j += kColumns) {
        transpose_columns(d, t.from + i * t.from_row + j, t.from_row, t.to + j * t.to_row + i, t.to_row);
      }
      for (std::int64_t j = whole; j < end; ++j) {
        for (std::int64_t r = i; r < i + kRows; ++r) t.to[j * t.to_row + r] = t.from[r * t.from_row + j];
      }
    }
  }
  return end_row;
}

}  // namespace

void transpose_here(const TransposedCopy& t) {
  std::int64_t row = transpose_rows(Floats(), t, 0);
  row = transpose_rows(hn::CappedTag<float, 4>(), t, row);
  for (; row < t.rows; ++row) {
    for (std::int64_t j = 0; j < t.columns; ++j) t.to[j * t.to_row + row] = t.from[row * t.from_row + j];
  }
}

bool has_many_registers_here() { return kManyRegisters; }

void multiply_float32_panels(const PanelTask<float>& task) { multiply(task); }
void multiply_bfloat16_panels(const PanelTask<std::uint16_t>& task) { multiply(task); }

std::int64_t most_panels(std::int64_t count, std::int64_t width) {
  const std::int64_t vectors = std::min(kMostVectors, width / kLanes);
  return fits(count, vectors, 4) ? 4 : fits(count, vectors, 2) ? 2 : 1;
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(multiply_float32_panels);
HWY_EXPORT(multiply_bfloat16_panels);
HWY_EXPORT(most_panels);
HWY_EXPORT(has_many_registers_here);
HWY_EXPORT(transpose_here);

void multiply_panels(const PanelTask<float>& task) { HWY_DYNAMIC_DISPATCH(multiply_float32_panels)(task); }
void multiply_panels(const PanelTask<std::uint16_t>& task) { HWY_DYNAMIC_DISPATCH(multiply_bfloat16_panels)(task); }
bool has_many_registers() { return HWY_DYNAMIC_DISPATCH(has_many_registers_here)(); }
void copy_transposed(const TransposedCopy& copy) { HWY_DYNAMIC_DISPATCH(transpose_here)(copy); }
std::int64_t panels_at_once(std::int64_t count, std::int64_t width) { return HWY_DYNAMIC_DISPATCH(most_panels)(count, width); }

}  // namespace graphrun
#endif
