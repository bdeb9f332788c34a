// A matrix packed for repeated products with few rows: recurrent weights, used in every step of a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/matmul/narrow.h"
#include "ops/matmul/product.h"
#include "ops/matmul/rounded.h"

namespace graphrun {

// The most rows for which multiplying by an already packed matrix is faster than oneDNN.
inline constexpr std::int64_t kFewRows = 128;

// How a packed matrix is stored; with `pairs`, the other factor is rounded to bfloat16 too (ops/matmul/rounded.h).
struct PackedForm {
  PackedForm(WeightForm form = WeightForm::kFloat32) : matrix(form) {}
  static PackedForm of_pairs() {
    PackedForm form(WeightForm::kBFloat16);
    form.pairs = true;
    return form;
  }
  bool operator==(const PackedForm&) const = default;

  bool is_narrow() const { return matrix != WeightForm::kFloat32; }
  // Whether to use it outside shared loops too: where it is faster, and always if only the matrix is rounded, because the
  // result for a row must not depend on the number of rows. (With pairs, it does depend on it, by a rounding of the sum:
  // libxsmm's code for few rows adds in another order.)
  bool serves_alone(const Product& product) const { return product.m <= kFewRows || (is_narrow() && !pairs); }

  WeightForm matrix;
  bool pairs = false;
};

// C [m, n] = A [m, k] · op(B) [k, n] in float32 (added to C if the product accumulates), with op(B) in panels of columns that a
// core reads sequentially. Made when a kernel is bound: for float32 and for pairs, libxsmm then generates machine code for
// these sizes (on x86 only); if only the matrix is narrower, see ops/matmul/narrow.h.
class PackedProduct {
 public:
  explicit PackedProduct(const Product& product, PackedForm form = {});
  // Whether code for it is available.
  bool available() const { return available_; }

  std::size_t bytes() const;
  // The number of columns in a panel. Ranges of columns begin at multiples of it, so the same code always computes a given
  // column.
  std::int64_t panel() const { return panel_; }
  // Packs columns [begin, end) of op(B) into `packed`, which is aligned to kAlignment.
  void pack(const float* b, void* packed, std::int64_t begin, std::int64_t end) const;
  // `back`: traverse the panels from last to first.
  void multiply(const float* a, const void* packed, float* c, std::int64_t begin, std::int64_t end, bool back = false) const;
  // Identifies the layout (ColumnKernel::layout).
  std::vector<std::int64_t> layout() const {
    return {product_.n,         product_.k, product_.transpose_b ? 1 : 0, panel_, static_cast<std::int64_t>(form_.matrix),
            form_.pairs ? 1 : 0};
  }

  bool serves_alone() const { return form_.serves_alone(product_); }

 private:
  // libxsmm is column-major: panel [k, width] takes the place of its A, and our A that of its B.
  using Code = void (*)(const float* panel, const float* a, float* c, ...);
  Code code_for(std::int64_t width) const;

  NarrowLayout narrow() const { return {form_.matrix, product_.n, product_.k, panel_}; }

  Product product_;
  PackedForm form_;
  std::int64_t panel_;
  bool available_ = false;
  Code whole_ = nullptr, last_ = nullptr;  // for a whole panel; for the matrix's last columns, if fewer
  std::optional<RoundedProduct> rounded_;  // for pairs
};

// Whether both factors of a product with a matrix are rounded, if the request allows it: that depends on the matrix's columns,
// not on the number of rows or on other products.
bool rounds_factors(const KernelRequest& request, const Product& product);

}  // namespace graphrun
