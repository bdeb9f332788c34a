// A matrix packed in panels of columns, stored as float32 or as bfloat16. Rows and sums are float32, so bfloat16 rounds only
// the matrix: the time of a product with few rows is the time to read it. Each element's sum adds its terms one after the
// other, so a row's result does not depend on the rows that are computed with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/matmul/product.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// What a range of panels is multiplied by, and where its sums go. The panels of op(B) [k, n] follow each other, [k, width]
// each; `width` is `panel`, and of the last one a multiple of kColumnStep, with zeros beyond the last column.
template <class T>
struct PanelRange {
  const float* a = nullptr;
  const T* packed = nullptr;  // the first panel
  float* c = nullptr;         // the first panel's columns
  std::int64_t rows = 0, terms = 0, columns = 0, panel = 0;
  std::int64_t a_row = 0, c_row = 0;  // elements between rows
  bool adds = false;                  // to C, instead of overwriting it
  bool back = false;                  // from the last panel to the first
  const T* then = nullptr;            // the panel that the caller multiplies next, which is prefetched; or null
};
template <class T>
void multiply_panels(const PanelRange<T>& range);

// Packs `columns` columns of op(B), from `column` on, and terms [term, term + terms) into panels. bfloat16 is rounded to
// nearest, ties to even.
template <class T>
void pack_panels(const MatrixProduct& product, const float* b, std::int64_t column, std::int64_t columns, std::int64_t term,
                 std::int64_t terms, std::int64_t panel, T* packed);

// All of op(B) in panels of `panel` columns. T: float, or BFloat16Bits.
template <class T>
class Panels {
 public:
  Panels(const MatrixProduct& product, std::int64_t panel) : product_(product), panel_(panel) {}

  std::size_t bytes() const { return static_cast<std::size_t>(padded() * product_.k) * sizeof(T); }
  // Packs columns [begin, end) of op(B) into `packed`.
  void pack(const float* b, T* packed, std::int64_t begin, std::int64_t end) const {
    pack_panels(product_, b, begin, end - begin, 0, product_.k, panel_, packed + begin * product_.k);
  }
  // Columns [begin, end) of C, where `begin` is the first of a panel and `end` the end of one or n. `back`, `then`: see
  // PanelRange.
  void multiply(const float* a, const T* packed, float* c, std::int64_t begin, std::int64_t end, bool back,
                const T* then = nullptr) const;

 private:
  std::int64_t padded() const { return (product_.n + kColumnStep - 1) / kColumnStep * kColumnStep; }

  MatrixProduct product_;
  std::int64_t panel_;
};

}  // namespace graphrun
