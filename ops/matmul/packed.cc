#include "ops/matmul/packed.h"

#include <algorithm>

#include "ops/matmul/panels_simd.h"
#include "runtime/base/processor.h"
#include "runtime/program/kernel.h"

namespace graphrun {
namespace {

// Three AVX-512 vectors of the sums of eight rows fill the registers, and two keep the processor as busy. A narrow result gets
// narrow panels, because panels are the unit of work for threads; with few rows less so, because too few sums would be in
// flight at once, and not if there is so little work that one thread suffices.
std::int64_t panel_for(const MatrixProduct& p) {
  constexpr double kOfOneThread = 150e3;
  const bool is_small = p.m <= 8 && p.operations() <= kOfOneThread;
  if (p.n >= (p.m <= 4 ? 256 : 480) || is_small) return kMostPanel;
  return p.n >= 160 ? 2 * kColumnStep : kColumnStep;
}

}  // namespace

PackedProduct::Packed PackedProduct::packed_as(PackedForm form, const MatrixProduct& product, std::int64_t panel) {
  if (form.pairs) return RoundedProduct(product, panel);
  if (form.matrix == WeightForm::kInt8) return QuantizedProduct(product, panel);
  if (form.matrix == WeightForm::kBFloat16) return Halves(product, panel);
  return Floats(product, panel);
}

PackedProduct::PackedProduct(const MatrixProduct& product, PackedForm form, std::int64_t panel)
    : product_(product),
      form_(form),
      panel_(panel > 0 ? panel : panel_for(product)),
      packed_(packed_as(form, product, panel_)) {
  if (product.m <= 0 || product.n <= 0 || product.k <= 0 || product.transpose_a) return;
  const auto* rounded = std::get_if<RoundedProduct>(&packed_);
  available_ = rounded != nullptr ? rounded->available() : quantized() == nullptr || quantized()->available();
}

std::size_t PackedProduct::bytes() const {
  if (const auto* rounded = std::get_if<RoundedProduct>(&packed_)) return rounded->right_bytes();
  if (const auto* halves = std::get_if<Halves>(&packed_)) return halves->bytes();
  return quantized() != nullptr ? quantized()->bytes() : std::get<Floats>(packed_).bytes();
}

void PackedProduct::pack(const float* b, void* packed, std::int64_t begin, std::int64_t end) const {
  if (const auto* rounded = std::get_if<RoundedProduct>(&packed_)) {
    rounded->round_right(b, static_cast<BFloat16Bits*>(packed), begin, end);
  } else if (const auto* halves = std::get_if<Halves>(&packed_)) {
    halves->pack(b, static_cast<BFloat16Bits*>(packed), begin, end);
  } else if (quantized() != nullptr) {
    quantized()->pack(b, packed, begin, end);
  } else {
    std::get<Floats>(packed_).pack(b, static_cast<float*>(packed), begin, end);
  }
}

void PackedProduct::multiply(const float* a, const void* packed, float* c, std::int64_t begin, std::int64_t end, bool back,
                             const void* then) const {
  if (const auto* rounded = std::get_if<RoundedProduct>(&packed_)) {
    rounded->multiply_rows(a, static_cast<const BFloat16Bits*>(packed), c, begin, end, back);
  } else if (const auto* halves = std::get_if<Halves>(&packed_)) {
    halves->multiply(a, static_cast<const BFloat16Bits*>(packed), c, begin, end, back, static_cast<const BFloat16Bits*>(then));
  } else if (quantized() != nullptr) {
    const QuantizedProduct::Right right{quantized(), packed, c};
    QuantizedProduct::multiply({&right, 1}, a, begin, end, back);
  } else {
    std::get<Floats>(packed_).multiply(a, static_cast<const float*>(packed), c, begin, end, back,
                                       static_cast<const float*>(then));
  }
}

const void* PackedProduct::first_panel(const void* packed, std::int64_t begin, std::int64_t end, bool back) const {
  const std::int64_t column = back ? begin + (end - begin - 1) / panel_ * panel_ : begin;
  if (std::holds_alternative<Floats>(packed_)) return static_cast<const float*>(packed) + column * product_.k;
  if (std::holds_alternative<Halves>(packed_)) return static_cast<const BFloat16Bits*>(packed) + column * product_.k;
  return nullptr;  // the others do not use it
}

std::int64_t PackedProduct::columns_at_once() const {
  const bool several = std::holds_alternative<Floats>(packed_) || std::holds_alternative<Halves>(packed_);
  return panel_ * (several ? panels_at_once(product_.m, panel_) : 1);
}

bool rounds_factors(const KernelRequest& request, const MatrixProduct& product) {
  return rounds_on_cpu(request.products) && request.outputs.at(0).dtype == DType::kFloat32 && RoundedProduct::serves(product.n);
}

}  // namespace graphrun
