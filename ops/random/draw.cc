// Philox on vectors: as many counters side by side as there are 64-bit lanes. Only the lower half of a lane counts; what the
// rounds leave above it is never read.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/random/draw.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>

#include "ops/pointwise/vector-inl.h"
#include "ops/random/draw.h"
#include "runtime/random.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {

constexpr std::int64_t kPiece = 1024;  // features drawn at once

// Words of features [first, first + count), first a multiple of 4; fills whole groups, so up to kPiece words.
void draw_words(const DrawRow& draw, std::int64_t first, std::int64_t count, std::uint32_t* words) {
  const auto row_low = static_cast<std::uint32_t>(draw.row), row_high = static_cast<std::uint32_t>(draw.row >> 32);
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t i = 0; i < count; i += 4) {
    const Philox four = philox(draw.key, row_low, row_high, static_cast<std::uint32_t>((first + i) / 4), draw.step);
    std::copy_n(four.v, 4, words + i);
  }
#else
  const hn::ScalableTag<std::uint64_t> d;
  const hn::ScalableTag<std::uint32_t> d32;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto multiply = [&](auto a, auto b) HWY_ATTR { return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b)); };
  const auto m0 = hn::Set(d, 0xD2511F53u), m2 = hn::Set(d, 0xCD9E8D57u), low = hn::Set(d, 0xFFFFFFFFu);
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    auto c0 = hn::Set(d, row_low), c1 = hn::Set(d, row_high), c3 = hn::Set(d, draw.step);
    auto c2 = hn::Iota(d, static_cast<std::uint64_t>((first + i) / 4));
    auto k0 = static_cast<std::uint32_t>(draw.key), k1 = static_cast<std::uint32_t>(draw.key >> 32);
    for (int round = 0; round < 10; ++round) {
      const auto a = multiply(m0, c0), b = multiply(m2, c2);
      const auto n0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), hn::Set(d, k0));
      const auto n2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), hn::Set(d, k1));
      c1 = b, c3 = a, c0 = n0, c2 = n2;
      k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    const auto w01 = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1)), w23 = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
    HWY_ALIGN std::uint64_t pairs[2 * HWY_MAX_BYTES / sizeof(std::uint64_t)];
    hn::StoreInterleaved2(w01, w23, d, pairs);
    std::memcpy(words + i, pairs, static_cast<std::size_t>(2 * lanes) * sizeof(std::uint64_t));
  }
#endif
}

// Elements [0, count) of a piece whose words are drawn.
void apply(const DrawRow& draw, const std::uint32_t* words, const float* x, float* y, std::int64_t count, float scale) {
  const Tag<float> d;
  const hn::ScalableTag<std::int32_t> di;
  const hn::ScalableTag<std::uint32_t> du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto threshold = hn::Set(di, static_cast<std::int32_t>(draw.threshold));
  const Vec<float> factor = scale;
  const auto kept = [&](std::int64_t i, Vec<float> v) HWY_ATTR -> Vec<float> {
    const auto bits = hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(du, words + i)));
    return hn::IfThenZeroElse(hn::RebindMask(d, hn::Lt(bits, threshold)), (v * factor).v);
  };
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(kept(i, x ? Vec<float>(hn::LoadU(d, x + i)) : Vec<float>(1)).v, d, y + i);
  }
  if (i == count) return;
  const auto rest = static_cast<std::size_t>(count - i);
  store_first(kept(i, x ? load_first(x + i, rest) : Vec<float>(1)), y + i, rest);
}

void apply(const DrawRow& draw, const std::uint32_t* words, const double* x, double* y, std::int64_t count, double scale) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = words[i] >> 8 < draw.threshold ? 0.0 : x ? x[i] * scale : scale;
}

template <class T>
void drop(const DrawRow& draw, const T* x, T* y, std::int64_t features, double scale) {
  // Room for a whole group beyond the last feature, and for a whole vector read from there.
  HWY_ALIGN std::uint32_t words[kPiece + 4 * HWY_MAX_BYTES];
  for (std::int64_t i = 0; i < features; i += kPiece) {
    const std::int64_t count = std::min(kPiece, features - i);
    draw_words(draw, i, count, words);
    apply(draw, words, x ? x + i : nullptr, y + i, count, static_cast<T>(scale));
  }
}

}  // namespace

void drop_float(const DrawRow& draw, const float* x, float* y, std::int64_t n, double scale) { drop(draw, x, y, n, scale); }
void drop_double(const DrawRow& draw, const double* x, double* y, std::int64_t n, double scale) { drop(draw, x, y, n, scale); }

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(drop_float);
HWY_EXPORT(drop_double);

void drop_row(const DrawRow& draw, const float* x, float* y, std::int64_t features, double scale) {
  HWY_DYNAMIC_DISPATCH(drop_float)(draw, x, y, features, scale);
}
void drop_row(const DrawRow& draw, const double* x, double* y, std::int64_t features, double scale) {
  HWY_DYNAMIC_DISPATCH(drop_double)(draw, x, y, features, scale);
}

}  // namespace graphrun
#endif
