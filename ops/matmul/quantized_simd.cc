#include "ops/matmul/quantized_simd.h"

#include <algorithm>
#include <bit>
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

// Without the sign bit, floats compare like their bits as integers; infinities and NaN are greater than all finite numbers.
constexpr std::int32_t kWithoutSign = 0x7fffffff, kInfinityBits = 0x7f800000;
// Floats near this value are 1 apart, so adding it rounds to the nearest whole number, which is then in the lowest bits.
// Products and sums must not be contracted (-ffp-contract=off): the bits would depend on whether the processor has a fused
// multiply-add.
constexpr float kOfWholeNumbers = 1.5F * (1 << 23);

// The bits of the element of largest magnitude, without the sign.
std::int32_t largest_bits(const float* x, std::int64_t k) {
  constexpr std::int64_t kSideBySide = 4;  // comparisons that do not wait for each other
  const QuantizedFloats d;
  const hn::Rebind<std::int32_t, QuantizedFloats> whole;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto bits = [&](std::int64_t i)
                        HWY_ATTR { return hn::And(hn::BitCast(whole, hn::LoadU(d, x + i)), hn::Set(whole, kWithoutSign)); };
  auto a = hn::Zero(whole), b = a, c = a, e = a;
  std::int64_t i = 0;
  for (; i + kSideBySide * lanes <= k; i += kSideBySide * lanes) {
    a = hn::Max(a, bits(i)), b = hn::Max(b, bits(i + lanes));
    c = hn::Max(c, bits(i + 2 * lanes)), e = hn::Max(e, bits(i + 3 * lanes));
  }
  for (; i + lanes <= k; i += lanes) a = hn::Max(a, bits(i));
  std::int32_t most = hn::GetLane(hn::MaxOfLanes(whole, hn::Max(hn::Max(a, b), hn::Max(c, e))));
  for (; i < k; ++i) most = std::max(most, std::bit_cast<std::int32_t>(x[i]) & kWithoutSign);
  return most;
}

float quantize(const float* x, std::int64_t k, std::int64_t terms, std::uint8_t* to) {
  constexpr float kSteps = 127, kLeast = 1e-30F;
  const std::int32_t bits = largest_bits(x, k);
  const auto most = std::bit_cast<float>(bits);
  if (bits >= kInfinityBits || most < kLeast) {
    std::fill_n(to, terms, static_cast<std::uint8_t>(kInt8Zero));
    return bits >= kInfinityBits ? std::numeric_limits<float>::quiet_NaN() : 0;
  }
  const QuantizedFloats d;
  const hn::Rebind<std::uint32_t, QuantizedFloats> whole;
  const hn::Rebind<std::uint8_t, QuantizedFloats> bytes;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float steps = kSteps / most, zero = kOfWholeNumbers + kInt8Zero;
  std::int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    __builtin_prefetch(x + k + i, 0, 3);  // the next row, which another core may have written
    const auto rounded = hn::Add(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, steps)), hn::Set(d, zero));
    hn::StoreU(hn::TruncateTo(bytes, hn::BitCast(whole, rounded)), bytes, to + i);
  }
  for (; i < k; ++i) to[i] = static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(x[i] * steps + zero));
  std::fill_n(to + k, terms - k, static_cast<std::uint8_t>(kInt8Zero));
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
