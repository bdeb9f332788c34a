// A matrix packed once for many products with few rows, such as recurrent weights over all steps of a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "ops/matmul/panels.h"
#include "ops/matmul/product.h"
#include "ops/matmul/quantized.h"
#include "ops/matmul/rounded.h"

namespace graphrun {

// The most rows for which multiplying by packed pairs is faster than by float32 panels, or for which one thread is enough if
// there are few columns.
inline constexpr std::int64_t kFewRows = 128;
inline constexpr std::int64_t kManyColumns = 256;  // enough for threads to share

// How a packed matrix is stored. The other factor is rounded too with int8 (ops/matmul/quantized.h), and with `pairs` to
// bfloat16 (ops/matmul/rounded.h).
struct PackedForm {
  PackedForm(WeightForm form = WeightForm::kFloat32) : matrix(form) {}
  static PackedForm of_pairs() {
    PackedForm form(WeightForm::kBFloat16);
    form.pairs = true;
    return form;
  }
  bool operator==(const PackedForm&) const = default;

  // Whether the other factor's rows are rounded, once for all panels.
  bool rounds_rows() const { return pairs || matrix == WeightForm::kInt8; }
  // Whether to use it outside shared loops too: in int8 and bfloat16 always, because the result for a row must not depend on
  // the number of rows; pairs give the same bits either way. Columns are the unit of work for threads, so many rows of few
  // columns are left to other code.
  bool serves_alone(const MatrixProduct& product) const {
    if (product.m <= kFewRows) return true;
    return !pairs && (matrix != WeightForm::kFloat32 || product.n >= kManyColumns);
  }

  WeightForm matrix;
  bool pairs = false;
};

// C [m, n] = A [m, k] · op(B) [k, n] in float32 (added to C if the product accumulates), with op(B) in panels of columns that a
// core reads sequentially. Made when a kernel is bound.
class PackedProduct {
 public:
  // `panel`: of products that share a packed matrix; 0: what suits this one best.
  explicit PackedProduct(const MatrixProduct& product, PackedForm form = {}, std::int64_t panel = 0);
  // Whether there is code for it.
  bool available() const { return available_; }

  std::size_t bytes() const;
  // The columns of a panel. Ranges of columns begin at multiples of it, so that a column is always computed by the same code.
  std::int64_t panel() const { return panel_; }
  // Packs columns [begin, end) of op(B) into their place in `packed`, which is aligned to kAlignment.
  void pack(const float* b, void* packed, std::int64_t begin, std::int64_t end) const;

  // Columns [begin, end) of C. `back`: panels from last to first. `then`: the panel that the caller multiplies next, which is
  // prefetched; or null.
  void multiply(const float* a, const void* packed, float* c, std::int64_t begin, std::int64_t end, bool back = false,
                const void* then = nullptr) const;
  // The panel with which `multiply` begins, to be passed as `then`.
  const void* first_panel(const void* packed, std::int64_t begin, std::int64_t end, bool back) const;
  // The columns that `multiply` computes at once: those of one panel or, with few rows, of several.
  std::int64_t columns_at_once() const;
  // Identifies the layout (ColumnKernel::layout).
  std::vector<std::int64_t> layout() const {
    return {product_.n,         product_.k, product_.transpose_b ? 1 : 0, panel_, static_cast<std::int64_t>(form_.matrix),
            form_.pairs ? 1 : 0};
  }

  bool serves_alone() const { return form_.serves_alone(product_); }
  const QuantizedProduct* quantized() const { return std::get_if<QuantizedProduct>(&packed_); }  // null unless in int8

 private:
  using Floats = Panels<float>;
  using Halves = Panels<BFloat16Bits>;
  using Packed = std::variant<Floats, Halves, RoundedProduct, QuantizedProduct>;
  static Packed packed_as(PackedForm form, const MatrixProduct& product, std::int64_t panel);

  MatrixProduct product_;
  PackedForm form_;
  std::int64_t panel_;
  Packed packed_;
  bool available_ = false;
};

// Whether the request has both factors of a product with one matrix rounded. That depends on the matrix's number of columns,
// not on the rows or on what else is computed with it.
bool rounds_factors(const KernelRequest& request, const MatrixProduct& product);

}  // namespace graphrun
