#include "ops/matmul/narrow.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/matmul/narrow_simd.h"

namespace graphrun {
namespace {

constexpr std::int64_t kRowsAtOnce = 128;  // of A: half a megabyte stays in the cache for all panels
constexpr float kMostInt8 = 127, kNaN = std::numeric_limits<float>::quiet_NaN();

// The upper half of the float's bits, rounded. A NaN stays NaN.
std::uint16_t bfloat16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Calls fn(i, j, x) for the elements of the panel of op(B) that begins at `column`, in memory order.
template <class Fn>
void for_panel(const NarrowLayout& layout, const Product& p, const float* b, std::int64_t column, const Fn& fn) {
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

// If the scale is NaN, the value does not matter.
std::int8_t int8_of(float x, float scale) {
  const float quotient = scale > 0 ? std::nearbyint(x / scale) : 0;
  return static_cast<std::int8_t>(std::clamp(quotient, -kMostInt8, kMostInt8));
}

template <class T>
T* panel_at(const NarrowLayout& layout, void* packed, std::int64_t column) {
  return reinterpret_cast<T*>(static_cast<char*>(packed) + layout.offset(column));
}

void pack_int8(const NarrowLayout& layout, const Product& p, const float* b, void* packed, std::int64_t column) {
  const std::int64_t width = layout.width_at(column);
  float* const scales = static_cast<float*>(packed) + column;
  std::fill_n(scales, width, 0.f);
  for_panel(layout, p, b, column, [&](std::int64_t, std::int64_t j, float x) {
    const float most = std::abs(x);
    scales[j] = most > scales[j] || most != most ? most : scales[j];  // a NaN stays: no number compares greater
  });
  for (std::int64_t j = 0; j < width; ++j) scales[j] = (scales[j] - scales[j] == 0 ? scales[j] : kNaN) / kMostInt8;
  auto* const values = panel_at<std::int8_t>(layout, packed, column);
  std::fill_n(values, width * p.k, std::int8_t{0});
  for_panel(layout, p, b, column,
            [&](std::int64_t i, std::int64_t j, float x) { values[i * width + j] = int8_of(x, scales[j]); });
}

void pack_bfloat16(const NarrowLayout& layout, const Product& p, const float* b, void* packed, std::int64_t column) {
  const std::int64_t width = layout.width_at(column);
  auto* const values = panel_at<std::uint16_t>(layout, packed, column);
  std::fill_n(values, width * p.k, std::uint16_t{0});
  for_panel(layout, p, b, column, [&](std::int64_t i, std::int64_t j, float x) { values[i * width + j] = bfloat16_of(x); });
}

template <class T>
void multiply_panels(const NarrowLayout& layout, const Product& p, const float* a, const void* packed, float* c,
                     std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = 0; row < p.m; row += kRowsAtOnce) {
    for (std::int64_t column = begin; column < end; column += layout.panel) {
      NarrowPanel<T> panel;
      panel.panel = reinterpret_cast<const T*>(static_cast<const char*>(packed) + layout.offset(column));
      if (layout.form == WeightForm::kInt8) panel.scales = static_cast<const float*>(packed) + column;
      panel.a = a + row * p.k, panel.c = c + row * p.n + column;
      panel.rows = std::min(kRowsAtOnce, p.m - row), panel.k = p.k, panel.c_row = p.n;
      panel.width = layout.width_at(column), panel.columns = layout.columns_at(column);
      panel.accumulate = p.accumulate;
      multiply_panel(panel);
    }
  }
}

}  // namespace

void pack_narrow(const NarrowLayout& layout, const Product& p, const float* b, void* packed, std::int64_t begin,
                 std::int64_t end) {
  const auto pack = layout.form == WeightForm::kInt8 ? pack_int8 : pack_bfloat16;
  for (std::int64_t column = begin; column < end; column += layout.panel) pack(layout, p, b, packed, column);
}

void multiply_narrow(const NarrowLayout& layout, const Product& p, const float* a, const void* packed, float* c,
                     std::int64_t begin, std::int64_t end) {
  const auto multiply = layout.form == WeightForm::kInt8 ? multiply_panels<std::int8_t> : multiply_panels<std::uint16_t>;
  multiply(layout, p, a, packed, c, begin, end);
}

}  // namespace graphrun
