#include "ops/matmul/quantized.h"

#include <cmath>
#include <limits>

#include "ops/matmul/quantized_simd.h"

namespace graphrun {
namespace {

// Rows are rounded in blocks of at most this many bytes and rows, small enough that the sums of a panel stay in the cache.
constexpr std::int64_t kRowBytes = 1 << 18, kMostRows = 128;
static_assert(kRowBytes >= kMostInt8Terms, "a row has room");
constexpr std::int64_t kFloatsOfLine = 16;  // in a cache line

// Prefetches cache lines of a result that is going to be written. Other cores may have read the previous result from them, so
// that a store would have to wait for its line.
void prefetch_to_write(float* c, std::int64_t row, std::int64_t rows, std::int64_t columns) {
#ifdef __x86_64__
  // GCC uses the instruction only if told that the processor has it. Processors with AVX2 have it, or ignore it.
  if (int8_sets().back() == Int8Set::kPlain) return;
  const auto prefetch = [](float& x) { asm volatile("prefetchw %0" : : "m"(x)); };
#else
  const auto prefetch = [](float& x) { __builtin_prefetch(&x, 1); };
#endif
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < columns; j += kFloatsOfLine) prefetch(c[r * row + j]);
  }
}

}  // namespace

// Rows [first, first + count) of a left factor, rounded.
struct QuantizedRows {
  std::int64_t first = 0, count = 0;
  alignas(64) std::uint8_t elements[kRowBytes];
  float scales[kMostRows];
};

void QuantizedProduct::pack(const float* b, void* packed, std::int64_t begin, std::int64_t end) const {
  for (std::int64_t column = begin; column < end; column += panel_) pack_panel(b, packed, column);
}

void QuantizedProduct::pack_panel(const float* b, void* packed, std::int64_t column) const {
  constexpr float kSteps = 127, kNaN = std::numeric_limits<float>::quiet_NaN();
  const std::int64_t width = width_at(column), columns = columns_at(column), k = product_.k;
  float* const scales = static_cast<float*>(packed) + column;
  std::int32_t* const offsets = static_cast<std::int32_t*>(packed) + padded() + column;
  auto* const panel = reinterpret_cast<std::int8_t*>(static_cast<char*>(packed) + offset(column));
  std::fill_n(panel, width * terms(), std::int8_t{0});
  std::fill_n(scales, width, 0.F);
  std::fill_n(offsets, width, 0);
  for (std::int64_t j = 0; j < columns; ++j) {
    const float* const from = product_.transpose_b ? b + (column + j) * k : b + column + j;
    const std::int64_t stride = product_.transpose_b ? 1 : product_.n;
    float most = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      const float size = std::fabs(from[i * stride]);
      if (size > most || size != size) most = size;  // a NaN stays: nothing is larger
    }
    scales[j] = (std::isfinite(most) ? most : kNaN) / kSteps;
    if (!(scales[j] > 0)) continue;  // zeros; or NaN, and the values do not matter
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      const auto step = static_cast<std::int8_t>(std::clamp(std::nearbyint(from[i * stride] / scales[j]), -kSteps, kSteps));
      panel[(i / kInt8Quad * width + j) * kInt8Quad + i % kInt8Quad] = step;
      sum += step;
    }
    offsets[j] = -kInt8Zero * sum;
  }
}

void QuantizedProduct::multiply(std::span<const Right> rights, const float* a, std::int64_t begin, std::int64_t end,
                                bool back) {
  if (rights.empty()) return;
  const QuantizedProduct& first = *rights[0].product;
  const std::int64_t k = first.product_.k, m = first.product_.m, terms = first.terms();
  QuantizedRows rows;
  const std::int64_t at_once = std::min(kRowBytes / terms, kMostRows);
  for (rows.first = 0; rows.first < m; rows.first += at_once) {
    rows.count = std::min(at_once, m - rows.first);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      rows.scales[r] = quantize_row(a + (rows.first + r) * k, k, terms, rows.elements + r * terms);
    }
    for (const Right& right : rights) right.product->multiply_rows(right, rows, begin, end, back);
  }
}

void QuantizedProduct::multiply_rows(const Right& right, const QuantizedRows& rows, std::int64_t begin, std::int64_t end,
                                     bool back) const {
  alignas(64) std::int32_t sums[kMostRows * kMostPanel];
  const std::int64_t panels = (end - begin + panel_ - 1) / panel_;
  for (std::int64_t i = 0; i < panels; ++i) {
    const std::int64_t column = begin + (back ? panels - 1 - i : i) * panel_;
    Int8Panel panel;
    panel.rows = rows.elements, panel.count = rows.count, panel.quads = quads(), panel.width = width_at(column);
    panel.columns = reinterpret_cast<const std::int8_t*>(static_cast<const char*>(right.packed) + offset(column));
    panel.offsets = static_cast<const std::int32_t*>(right.packed) + padded() + column;
    float* const c = right.c + rows.first * product_.n + column;
    prefetch_to_write(c, product_.n, rows.count, columns_at(column));
    multiply_int8(panel, sums);
    ScaledSums scaled;
    scaled.sums = sums, scaled.row_scales = rows.scales;
    scaled.column_scales = static_cast<const float*>(right.packed) + column;
    scaled.c = c, scaled.c_row = product_.n;
    scaled.rows = rows.count, scaled.columns = columns_at(column), scaled.width = panel.width;
    scaled.accumulate = product_.accumulate;
    scale_sums(scaled);
  }
}

}  // namespace graphrun
