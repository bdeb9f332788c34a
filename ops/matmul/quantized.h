// Products in int8: a matrix with a scale for each column, rows with a scale for each row, sums in int32. Each row is rounded
// by itself when it is multiplied, so its result does not depend on the batch. The largest magnitude of a column or row becomes
// 127; elements are rounded to nearest, ties to even. A row of magnitudes below 1e-30 counts as zeros. A column or row that
// contains an infinity or a NaN gives NaN.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/matmul/instructions/int8_dot.h"
#include "ops/matmul/product.h"
#include "runtime/program/kernel.h"

namespace graphrun {

struct QuantizedRows;

// C [m, n] = A [m, k] · op(B) [k, n], op(B) in panels of columns: scales FLOAT [n], offsets INT32 [n] (Int8Panel), then panel
// after panel; n and k padded with zeros to multiples of kColumnStep and kInt8Step.
class QuantizedProduct {
 public:
  QuantizedProduct(const MatrixProduct& product, std::int64_t panel) : product_(product), panel_(panel) {}
  // Whether sums of k terms stay within int32.
  bool available() const { return product_.k <= kMostInt8Terms; }

  std::size_t bytes() const { return offset(padded()); }
  // Rounds columns [begin, end) of op(B) into `packed`. `begin` is the first column of a panel, `end` the end of a panel or n.
  void pack(const float* b, void* packed, std::int64_t begin, std::int64_t end) const;
  // A right factor: its product, its panels and the result.
  struct Right {
    const QuantizedProduct* product = nullptr;
    const void* packed = nullptr;
    float* c = nullptr;
  };
  // Columns [begin, end) of the results of the same rows `a`, which are rounded once for all matrices. The products have the
  // same sizes and panels. `back`: panels from last to first.
  static void multiply(std::span<const Right> rights, const float* a, std::int64_t begin, std::int64_t end, bool back);

 private:
  std::int64_t padded() const { return (product_.n + kColumnStep - 1) / kColumnStep * kColumnStep; }
  std::int64_t terms() const { return (product_.k + kInt8Step - 1) / kInt8Step * kInt8Step; }
  std::int64_t quads() const { return terms() / kInt8Quad; }
  // The offset in bytes of the panel that begins at `column`.
  std::size_t offset(std::int64_t column) const {
    return static_cast<std::size_t>(padded()) * (sizeof(float) + sizeof(std::int32_t)) +
           static_cast<std::size_t>(column * terms());
  }
  // The number of columns in that panel, and the number including padding.
  std::int64_t columns_at(std::int64_t column) const { return std::min(panel_, product_.n - column); }
  std::int64_t width_at(std::int64_t column) const { return std::min(panel_, padded() - column); }
  void pack_panel(const float* b, void* packed, std::int64_t column) const;
  // For the rounded rows.
  void multiply_rows(const Right& right, const QuantizedRows& rows, std::int64_t begin, std::int64_t end, bool back) const;

  MatrixProduct product_;
  std::int64_t panel_;
};

}  // namespace graphrun
