// Matrices stored as bfloat16: the time of a product with few rows is the time to read the matrix. Rows and sums are float32;
// only the matrix is rounded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/matmul/product.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// op(B) [k, n] in panels of columns, as in PackedProduct (ops/matmul/packed.h): [k, width] each, `width` a multiple of
// kColumnStep, with zeros beyond the last column.
struct NarrowLayout {
  std::int64_t n = 0, k = 0, panel = 0;

  std::int64_t padded() const { return (n + kColumnStep - 1) / kColumnStep * kColumnStep; }
  std::size_t bytes() const { return static_cast<std::size_t>(padded() * k) * sizeof(std::uint16_t); }
  // The number of columns of op(B) in the panel that begins at `column`, and the number including padding.
  std::int64_t columns_at(std::int64_t column) const { return std::min(panel, n - column); }
  std::int64_t width_at(std::int64_t column) const { return std::min(panel, padded() - column); }
};

// Rounds columns [begin, end) of op(B) into `packed`: to nearest, ties to even.
void pack_narrow(const NarrowLayout& layout, const MatrixProduct& product, const float* b, std::uint16_t* packed,
                 std::int64_t begin, std::int64_t end);

// Columns [begin, end) of C, where `begin` is the first of a panel and `end` the end of one or n.
void multiply_narrow(const NarrowLayout& layout, const MatrixProduct& product, const float* a, const std::uint16_t* packed,
                     float* c, std::int64_t begin, std::int64_t end);

}  // namespace graphrun
