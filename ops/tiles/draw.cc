// Philox on vectors: one counter per 64-bit lane. Only the lower half of a lane is significant; the rounds may leave anything
// in the upper half, which is never read.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/tiles/draw.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>
#include <cmath>

#include "ops/tiles/draw.h"
#include "ops/vector-inl.h"
#include "runtime/base/random.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {

constexpr std::int64_t kPiece = 1024;  // words drawn at once

// Draws the words of features [first, first + count), first a multiple of 4; fills whole groups, so up to kPiece words.
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

// Writes one byte per word; writes whole vectors.
void keep(const std::uint32_t* words, std::uint32_t threshold, std::int64_t count, std::uint8_t* kept) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto least = hn::Set(d, static_cast<std::int32_t>(threshold)), one = hn::Set(d, 1);
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto bits = hn::BitCast(d, hn::ShiftRight<8>(hn::LoadU(du, words + i)));
    hn::StoreU(hn::DemoteTo(d8, hn::IfThenZeroElse(hn::Lt(bits, least), one)), d8, kept + i);
  }
}

}  // namespace

void draw_row(const DrawRow& draw, std::int64_t first, std::int64_t count, std::uint8_t* kept) {
  // Space for a whole group beyond the last feature, and for a whole vector read from there.
  HWY_ALIGN std::uint32_t words[kPiece + 4 * HWY_MAX_BYTES];
  while (count > 0) {
    const std::int64_t before = first % 4, n = std::min(kPiece - before, count);
    draw_words(draw, first - before, n + before, words);
    keep(words + before, draw.threshold, n, kept);
    first += n, kept += n, count -= n;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(draw_row);

Draw::Draw(double rate, const std::string& key)
    : name(hash_name(key.data(), key.size())), threshold(static_cast<std::uint32_t>(std::lround(rate * 16777216.0))) {}

DrawRow::DrawRow(const Draw& draw, const RandomState& random)
    : key(fold_coordinate(fold_coordinate(random.seed, draw.name), random.step >> 32)),
      step(static_cast<std::uint32_t>(random.step)),
      threshold(draw.threshold) {
  for (std::int64_t s : random.scan_steps) row = fold_coordinate(row, static_cast<std::uint64_t>(s));
}

namespace {

// The hash of a row's position: the steps of the enclosing scans, then the row's coordinates on the leading axes. Inside a scan
// the step takes the place of the missing axis, so the draws equal those of the same tensor outside the scan.
std::uint64_t fold_row(std::uint64_t hash, const Sizes& sizes, std::int64_t row) {
  std::int64_t below = 1;
  for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis) below *= sizes[axis];
  for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis) {
    below /= sizes[axis];
    hash = fold_coordinate(hash, static_cast<std::uint64_t>(row / below));
    row %= below;
  }
  return hash;
}

}  // namespace

void draw_elements(const DrawRow& common, const Sizes& sizes, std::int64_t begin, std::int64_t n, std::uint8_t* kept) {
  const std::int64_t features = sizes.empty() ? 1 : sizes.back();
  while (n > 0) {
    const std::int64_t first = begin % features, count = std::min(n, features - first);
    DrawRow draw = common;
    draw.row = fold_row(common.row, sizes, begin / features);
    HWY_DYNAMIC_DISPATCH(draw_row)(draw, first, count, kept);
    begin += count, kept += count, n -= count;
  }
}

}  // namespace graphrun
#endif
