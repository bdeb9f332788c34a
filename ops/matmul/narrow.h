// Matrices stored with less precision than float32: the time of a product with few rows is the time to read the matrix.
// Elements are bfloat16, or int8 with a scale for each column. Rows and sums stay float32; only the matrix is rounded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/matmul/product.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// op(B) [k, n] in panels of columns, as in PackedProduct (ops/matmul/packed.h): [k, width] each, `width` a multiple of
// kColumnStep, with zeros beyond the last column. For int8, the scales of all columns come first.
struct NarrowLayout {
  WeightForm form = WeightForm::kInt8;
  std::int64_t n = 0, k = 0, panel = 0;

  std::int64_t padded() const { return (n + kColumnStep - 1) / kColumnStep * kColumnStep; }
  std::int64_t element_bytes() const { return form == WeightForm::kInt8 ? 1 : 2; }
  std::size_t scale_bytes() const { return form == WeightForm::kInt8 ? static_cast<std::size_t>(padded()) * sizeof(float) : 0; }
  std::size_t bytes() const { return offset(padded()); }
  // The offset in bytes of the panel that begins at `column`.
  std::size_t offset(std::int64_t column) const {
    return scale_bytes() + static_cast<std::size_t>(column * k * element_bytes());
  }
  // The number of columns of op(B) in that panel, and the number including padding.
  std::int64_t columns_at(std::int64_t column) const { return std::min(panel, n - column); }
  std::int64_t width_at(std::int64_t column) const { return std::min(panel, padded() - column); }
};

// Rounds columns [begin, end) of op(B) into their place in `packed`: to nearest, ties to even. In int8, the largest magnitude
// of a column becomes 127; a column of zeros stays zero, and a column with an infinity or a NaN becomes NaN.
void pack_narrow(const NarrowLayout& layout, const Product& product, const float* b, void* packed, std::int64_t begin,
                 std::int64_t end);

// Computes columns [begin, end) of C; `begin` is the start of a panel, and `end` is the end of a panel or n.
void multiply_narrow(const NarrowLayout& layout, const Product& product, const float* a, const void* packed, float* c,
                     std::int64_t begin, std::int64_t end);

}  // namespace graphrun
