#include "ops/matmul/quantized_simd.h"

#include <cmath>
#include <limits>

#include "ops/matmul/instructions/int8_dot.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/quantized_simd.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using QuantizedFloats = hn::ScalableTag<float>;

float quantize(const float* x, std::int64_t k, std::int64_t terms, std::uint8_t* to) {
  constexpr float kSteps = 127, kLeast = 1e-30F;
  const QuantizedFloats d;
  const hn::Rebind<std::int32_t, QuantizedFloats> whole;
  const hn::Rebind<std::uint8_t, QuantizedFloats> bytes;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto largest = hn::Zero(d), poison = hn::Zero(d);  // poison: NaN if an element is not finite, otherwise 0
  std::int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    largest = hn::Max(largest, hn::Abs(v));
    poison = hn::Add(poison, hn::Mul(v, hn::Zero(d)));
  }
  float most = hn::GetLane(hn::MaxOfLanes(d, largest)), bad = hn::GetLane(hn::SumOfLanes(d, poison));
  for (; i < k; ++i) {
    const float size = std::fabs(x[i]);
    if (size > most) most = size;
    bad += x[i] * 0;
  }
  const bool is_finite = bad == 0, is_zero = is_finite && most < kLeast;
  if (!is_finite || is_zero) {
    for (i = 0; i < terms; ++i) to[i] = kInt8Zero;
    return is_zero ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  const float steps = kSteps / most;
  const auto scale = hn::Set(d, steps);
  const auto zero = hn::Set(whole, kInt8Zero);
  for (i = 0; i + lanes <= k; i += lanes) {
    const auto steps_of = hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), scale));
    hn::StoreU(hn::DemoteTo(bytes, hn::Add(steps_of, zero)), bytes, to + i);
  }
  for (; i < k; ++i) to[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(x[i] * steps)) + kInt8Zero);
  for (; i < terms; ++i) to[i] = kInt8Zero;
  return most / kSteps;
}

void scale(const ScaledSums& s) {
  const QuantizedFloats d;
  const hn::Rebind<std::int32_t, QuantizedFloats> whole;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const std::int32_t* const sums = s.sums + r * s.width;
    float* const out = s.c + r * s.c_row;
    const auto row_scale = hn::Set(d, s.row_scales[r]);
    const auto at = [&](std::int64_t j) HWY_ATTR {
      const auto sum = hn::ConvertTo(d, hn::LoadU(whole, sums + j));
      return hn::Mul(hn::Mul(sum, hn::LoadU(d, s.column_scales + j)), row_scale);
    };
    std::int64_t j = 0;
    for (; j + lanes <= s.columns; j += lanes) {
      hn::StoreU(s.accumulate ? hn::Add(hn::LoadU(d, out + j), at(j)) : at(j), d, out + j);
    }
    if (j == s.columns) continue;
    HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(at(j), d, rest);
    for (std::int64_t k = 0; j < s.columns; ++j, ++k) out[j] = s.accumulate ? out[j] + rest[k] : rest[k];
  }
}

}  // namespace

float quantize_here(const float* x, std::int64_t k, std::int64_t terms, std::uint8_t* to) { return quantize(x, k, terms, to); }
void scale_here(const ScaledSums& s) { scale(s); }

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(quantize_here);
HWY_EXPORT(scale_here);

float quantize_row(const float* x, std::int64_t k, std::int64_t terms, std::uint8_t* to) {
  return HWY_DYNAMIC_DISPATCH(quantize_here)(x, k, terms, to);
}
void scale_sums(const ScaledSums& s) { HWY_DYNAMIC_DISPATCH(scale_here)(s); }

}  // namespace graphrun
#endif
