#include "ops/matmul/packed.h"

#include <algorithm>

#include "runtime/base/processor.h"
#include "runtime/program/kernel.h"

#if defined(__x86_64__)
#include <libxsmm.h>
#endif

namespace graphrun {
namespace {

// With eight rows, three AVX-512 vectors or six AVX2 vectors fill the registers. A narrow result gets narrow panels, because
// panels are the unit of work for threads; with few rows less so, because too few sums would be in flight at once, and not if
// there is so little work that one thread suffices.
std::int64_t panel_for(const MatrixProduct& p) {
  constexpr double kOfOneThread = 150e3;
  const bool is_small = p.m <= 8 && p.operations() <= kOfOneThread;
  return p.n >= (p.m <= 4 ? 256 : 480) || is_small ? kMostPanel : kColumnStep;
}

}  // namespace

PackedProduct::Code PackedProduct::code_for(std::int64_t width) const {
#if defined(__x86_64__)
  if (width <= 0 || !may_write_code()) return nullptr;
  const auto as_int = [](std::int64_t x) { return static_cast<int>(x); };
  const int lda = as_int(width), ldb = as_int(product_.k), ldc = as_int(product_.n), flags = LIBXSMM_GEMM_FLAG_NONE,
            prefetch = LIBXSMM_PREFETCH_NONE;
  const float alpha = 1, beta = product_.accumulate ? 1 : 0;
  return libxsmm_smmdispatch(as_int(width), as_int(product_.m), as_int(product_.k), &lda, &ldb, &ldc, &alpha, &beta, &flags,
                             &prefetch);
#else
  (void)width;
  return nullptr;
#endif
}

PackedProduct::PackedProduct(const MatrixProduct& product, PackedForm form, std::int64_t panel)
    : product_(product), form_(form), panel_(panel > 0 ? panel : panel_for(product)) {
  if (product.m <= 0 || product.n <= 0 || product.k <= 0 || product.transpose_a) return;
  if (form.pairs) {
    rounded_.emplace(product, panel_);
    available_ = rounded_->available();
    return;
  }
  if (form.matrix == WeightForm::kInt8) {
    quantized_.emplace(product, panel_);
    available_ = quantized_->available();
    return;
  }
  if (form_.is_narrow()) {
    available_ = true;
    return;
  }
  const bool any_whole = product.n >= panel_, any_less = product.n % panel_ != 0;
  if (any_whole) whole_ = code_for(panel_);
  if (any_less) last_ = code_for(product.n % panel_);
  available_ = (whole_ != nullptr) == any_whole && (last_ != nullptr) == any_less;
}

std::size_t PackedProduct::bytes() const {
  if (rounded_) return rounded_->right_bytes();
  if (quantized_) return quantized_->bytes();
  if (form_.is_narrow()) return narrow().bytes();
  return static_cast<std::size_t>(product_.n * product_.k) * sizeof(float);
}

void PackedProduct::pack(const float* b, void* packed, std::int64_t begin, std::int64_t end) const {
  if (rounded_) return rounded_->round_right(b, static_cast<BFloat16Bits*>(packed), begin, end);
  if (quantized_) return quantized_->pack(b, packed, begin, end);
  if (form_.is_narrow()) return pack_narrow(narrow(), product_, b, static_cast<std::uint16_t*>(packed), begin, end);
  const std::int64_t k = product_.k;
  for (std::int64_t column = begin; column < end; column += panel_) {
    const std::int64_t width = std::min(panel_, end - column);
    float* panel = static_cast<float*>(packed) + column * k;
    for (std::int64_t i = 0; i < k; ++i) {
      if (product_.transpose_b) {
        for (std::int64_t j = 0; j < width; ++j) panel[i * width + j] = b[(column + j) * k + i];
      } else {
        std::copy_n(b + i * product_.n + column, width, panel + i * width);
      }
    }
  }
}

void PackedProduct::multiply(const float* a, const void* packed, float* c, std::int64_t begin, std::int64_t end,
                             bool back) const {
  if (rounded_) return rounded_->multiply_rows(a, static_cast<const BFloat16Bits*>(packed), c, begin, end, back);
  if (quantized_) {
    const QuantizedProduct::Right right{&*quantized_, packed, c};
    return QuantizedProduct::multiply({&right, 1}, a, begin, end, back);
  }
  for (std::int64_t i = 0, panels = (end - begin + panel_ - 1) / panel_; i < panels; ++i) {
    const std::int64_t column = begin + (back ? panels - 1 - i : i) * panel_;
    if (form_.is_narrow()) {
      multiply_narrow(narrow(), product_, a, static_cast<const std::uint16_t*>(packed), c, column,
                      std::min(column + panel_, end));
      continue;
    }
    const Code code = end - column >= panel_ ? whole_ : last_;
    code(static_cast<const float*>(packed) + column * product_.k, a, c + column);
  }
}

bool rounds_factors(const KernelRequest& request, const MatrixProduct& product) {
  return rounds_on_cpu(request.products) && request.outputs.at(0).dtype == DType::kFloat32 && RoundedProduct::serves(product.n);
}

}  // namespace graphrun
