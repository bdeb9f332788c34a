// A matrix packed for products with few rows, again and again: recurrent weights, over all steps of a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/matmul/narrow.h"
#include "ops/matmul/product.h"

namespace graphrun {

// Rows up to which a packed matrix is faster than oneDNN where it need not be packed first.
inline constexpr std::int64_t kFewRows = 128;

// C [m, n] = A [m, k] · op(B) [k, n] in float32 (added to C where the product accumulates), op(B) in panels of columns that a
// core reads from end to end. Made when a kernel is bound: of float32, libxsmm writes machine code for these sizes then (on
// x86; elsewhere there is none); narrower forms are in ops/matmul/narrow.h.
class PackedProduct {
 public:
  explicit PackedProduct(const Product& product, WeightForm form = WeightForm::kFloat32);
  // Whether there is code for it.
  bool available() const { return available_; }

  std::size_t bytes() const;
  // The columns of a panel. Ranges of columns begin at multiples of it, so that a column is always computed by the same code.
  std::int64_t panel() const { return panel_; }
  // Packs columns [begin, end) of op(B) into their place in `packed`, which is aligned to kAlignment.
  void pack(const float* b, void* packed, std::int64_t begin, std::int64_t end) const;
  void multiply(const float* a, const void* packed, float* c, std::int64_t begin, std::int64_t end) const;
  // What tells one layout from another (ColumnKernel::layout).
  std::vector<std::int64_t> layout() const {
    return {product_.n, product_.k, product_.transpose_b ? 1 : 0, panel_, static_cast<std::int64_t>(form_)};
  }

  // Whether it is to be used where no loop is shared, too: where it is faster, and where the matrix is rounded, whatever the
  // rows: what comes of a row must not depend on how many there are.
  bool serves_alone() const { return product_.m <= kFewRows || form_ != WeightForm::kFloat32; }

 private:
  // panel [k, width] in place of libxsmm's A, our A in place of its B: it counts columns first.
  using Code = void (*)(const float* panel, const float* a, float* c, ...);
  Code code_for(std::int64_t width) const;

  NarrowLayout narrow() const { return {form_, product_.n, product_.k, panel_}; }

  Product product_;
  WeightForm form_;
  std::int64_t panel_;
  bool available_ = false;
  Code whole_ = nullptr, last_ = nullptr;  // for a panel; for the matrix's last columns, fewer
};

// The same of input i, the product's right factor, before anything is packed.
inline bool is_packed_alone(const KernelRequest& request, std::size_t i, const Product& product) {
  return request.is_lasting(i) && (product.m <= kFewRows || request.weights != WeightForm::kFloat32);
}

}  // namespace graphrun
