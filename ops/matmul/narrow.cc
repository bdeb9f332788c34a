#include "ops/matmul/narrow.h"

#include <algorithm>
#include <bit>

#include "ops/matmul/narrow_simd.h"

namespace graphrun {
namespace {

constexpr std::int64_t kRowsAtOnce = 128;  // of A: half a megabyte, which stays in the cache while all panels are multiplied

// The upper half of the float's bits. A NaN stays one.
std::uint16_t bfloat16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// fn(i, j, x) for the elements of the panel of op(B) that begins at `column`, in memory order.
template <class Fn>
void for_panel(const NarrowLayout& layout, const MatrixProduct& p, const float* b, std::int64_t column, const Fn& fn) {
  const std::int64_t columns = layout.columns_at(column);
  if (p.transpose_b) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < p.k; ++i) fn(i, j, b[(column + j) * p.k + i]);
    }
  } else {
    for (std::int64_t i = 0; i < p.k; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) fn(i, j, b[i * p.n + column + j]);
    }
  }
}

}  // namespace

void pack_narrow(const NarrowLayout& layout, const MatrixProduct& p, const float* b, std::uint16_t* packed, std::int64_t begin,
                 std::int64_t end) {
  for (std::int64_t column = begin; column < end; column += layout.panel) {
    const std::int64_t width = layout.width_at(column);
    std::uint16_t* const values = packed + column * p.k;
    std::fill_n(values, width * p.k, std::uint16_t{0});
    for_panel(layout, p, b, column, [&](std::int64_t i, std::int64_t j, float x) { values[i * width + j] = bfloat16_of(x); });
  }
}

void multiply_narrow(const NarrowLayout& layout, const MatrixProduct& p, const float* a, const std::uint16_t* packed, float* c,
                     std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = 0; row < p.m; row += kRowsAtOnce) {
    for (std::int64_t column = begin; column < end; column += layout.panel) {
      NarrowPanel panel;
      panel.panel = packed + column * p.k;
      panel.a = a + row * p.k, panel.c = c + row * p.n + column;
      panel.rows = std::min(kRowsAtOnce, p.m - row), panel.k = p.k, panel.c_row = p.n;
      panel.width = layout.width_at(column), panel.columns = layout.columns_at(column);
      panel.accumulate = p.accumulate;
      multiply_panel(panel);
    }
  }
}

}  // namespace graphrun
