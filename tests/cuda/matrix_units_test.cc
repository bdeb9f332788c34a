// Matrix units as the host emulates them: rounding of numbers, and the products of a warp.
#include "runtime/cuda/matrix_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "runtime/base/status.h"
#include "runtime/cuda/emulation.h"

namespace graphrun::cuda {
namespace {

float tf32(float x) { return Tf32::number(Tf32::word({x}), 0); }
float bfloat16(float x) { return BFloat16::number(BFloat16::word({x, 0}), 0); }

// The number nearest to x if there are 2^bits numbers between two powers of two. Of two that are equally near, the one of
// larger magnitude if `half_up`, else the one with the even fraction.
float nearest(float x, int bits, bool half_up) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(static_cast<double>(x)), &exponent), scaled = std::ldexp(fraction, bits);
  const double whole = half_up ? std::floor(scaled + 0.5) : std::nearbyint(scaled);
  return std::copysign(static_cast<float>(std::ldexp(whole, exponent - bits)), x);
}

TEST(MatrixUnits, RoundToTheNearest) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> exponents(-30, 30);
  for (int i = 0; i < 100000; ++i) {
    const float x = (i % 2 == 0 ? 1.f : -1.f) * std::exp2(exponents(random));
    ASSERT_EQ(tf32(x), nearest(x, 11, true)) << x;
    ASSERT_EQ(bfloat16(x), nearest(x, 8, false)) << x;
  }
  // Halves.
  EXPECT_EQ(tf32(1 + std::exp2(-11.f)), 1 + std::exp2(-10.f));
  EXPECT_EQ(tf32(1 + 3 * std::exp2(-11.f)), 1 + 2 * std::exp2(-10.f));
  EXPECT_EQ(bfloat16(1 + std::exp2(-8.f)), 1);
  EXPECT_EQ(bfloat16(1 + 3 * std::exp2(-8.f)), 1 + 2 * std::exp2(-7.f));
  EXPECT_EQ(BFloat16::number(BFloat16::word({3, -5}), 1), -5) << "the second of a word";
}

TEST(MatrixUnits, KeepWhatIsNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (float x : {0.f, -0.f, infinity, -infinity}) {
    EXPECT_EQ(bits_of(tf32(x)), bits_of(x));
    EXPECT_EQ(bits_of(bfloat16(x)), bits_of(x));
  }
  for (unsigned bits : {0x7FC00000u, 0x7F800001u, 0xFF80F000u}) {  // quiet; the others differ from infinity in low bits only
    EXPECT_TRUE(std::isnan(tf32(float_of(bits))));
    EXPECT_EQ(bits_of(tf32(float_of(bits))) & 0x1FFFu, 0u) << "which the units do not read";
    EXPECT_TRUE(std::isnan(bfloat16(float_of(bits))));
  }
}

// The two parts of float32 have 22 bits together, and what is not finite stays what it is.
TEST(MatrixUnits, SplitFloat32) {
  struct Numbers {
    float upper, lower;
  };
  const auto parts = [](float x) {
    const SplitFloat32::Parts words = SplitFloat32::parts(SplitFloat32::word({x}));
    return Numbers{Tf32::number(words.upper, 0), Tf32::number(words.lower, 0)};
  };
  const auto expect_split = [&](float x) {
    EXPECT_LE(std::abs(static_cast<double>(parts(x).upper) + static_cast<double>(parts(x).lower) - x),
              std::exp2(-22.) * std::abs(x))
        << x;
  };
  std::mt19937 random(5);
  std::uniform_real_distribution<float> exponents(-30, 30);
  for (int i = 0; i < 100000; ++i) expect_split((i % 2 == 0 ? 1.f : -1.f) * std::exp2(exponents(random)));
  for (const float sign : {1.f, -1.f}) {
    const float infinity = sign * std::numeric_limits<float>::infinity();
    expect_split(sign * 0.f), expect_split(sign * std::numeric_limits<float>::max());
    EXPECT_EQ(parts(infinity).upper, infinity);
    EXPECT_EQ(parts(infinity).lower, 0);
  }
  for (unsigned bits : {0x7FC00000u, 0x7F800001u, 0x7FFFFFFFu, 0xFF80F000u}) {
    const Numbers both = parts(float_of(bits));
    EXPECT_TRUE(std::isnan(both.upper + both.lower)) << bits;
  }
}

// Each warp multiplies its own matrices, the second one more of them than the first.
template <class Form>
void expect_products(bool together) {
  constexpr int kDepth = kUnitWords * Form::kInWord, kWarps = 2, kMost = 2;
  std::mt19937 random(3);
  float a[kWarps][kMost][kUnitRows][kDepth], b[kWarps][kMost][kDepth][kUnitColumns], found[kWarps][kUnitRows][kUnitColumns];
  const auto fill = [&](auto& m) {
    for (auto& warp : m)
      for (auto& matrix : warp)
        for (auto& row : matrix)
          for (float& x : row) x = static_cast<float>(random() % 33) - 16;  // exact in both forms
  };
  fill(a), fill(b);
  emulate({1, kWarps * kWarpThreads, 0, true, together}, [&] {
    const int warp = thread_index() / kWarpThreads, t = thread_index() % kWarpThreads;
    float d[4] = {};
    for (int round = 0; round <= warp; ++round) {
      unsigned left[4], right[2];
      for (int i = 0; i < 4; ++i) {
        float x[Form::kInWord];
        for (int j = 0; j < Form::kInWord; ++j)
          x[j] = a[warp][round][t / 4 + i % 2 * 8][(t % 4 + i / 2 * 4) * Form::kInWord + j];
        left[i] = Form::word(x);
      }
      for (int i = 0; i < 2; ++i) {
        float x[Form::kInWord];
        for (int j = 0; j < Form::kInWord; ++j) x[j] = b[warp][round][(t % 4 + i * 4) * Form::kInWord + j][t / 4];
        right[i] = Form::word(x);
      }
      multiply_add<Form>(d, left, right);
    }
    barrier();
    for (int i = 0; i < 4; ++i) found[warp][t / 4 + i / 2 * 8][t % 4 * 2 + i % 2] = d[i];
  });
  for (int warp = 0; warp < kWarps; ++warp) {
    for (int r = 0; r < kUnitRows; ++r) {
      for (int c = 0; c < kUnitColumns; ++c) {
        float sum = 0;
        for (int round = 0; round <= warp; ++round)
          for (int k = 0; k < kDepth; ++k) sum += a[warp][round][r][k] * b[warp][round][k][c];
        ASSERT_EQ(found[warp][r][c], sum) << warp << " " << r << " " << c;
      }
    }
  }
}

// Products of what is not finite are those of float32: row 0 of the left factor has infinity, row 1 NaN, row 2 large numbers.
TEST(MatrixUnits, MultiplyWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  float a[kUnitRows][kUnitWords] = {}, b[kUnitWords][kUnitColumns], found[kUnitRows][kUnitColumns];
  for (int k = 0; k < kUnitWords; ++k) {
    a[0][k] = a[1][k] = a[2][k] = a[3][k] = 0.1f * static_cast<float>(k + 1);
    for (int c = 0; c < kUnitColumns; ++c) b[k][c] = (c % 2 == 0 ? 0.7f : -1.f) * static_cast<float>(c + 1);
  }
  a[0][3] = infinity, a[1][3] = float_of(0x7F800001u), a[2][3] = most, a[3][3] = float_of(0x7FFFFFFFu);
  b[3][7] = 0, b[3][6] = 0.1f;
  emulate({1, kWarpThreads, 0, true, false}, [&] {
    const int t = thread_index();
    unsigned left[4], right[2];
    for (int i = 0; i < 4; ++i) left[i] = SplitFloat32::word({a[t / 4 + i % 2 * 8][t % 4 + i / 2 * 4]});
    for (int i = 0; i < 2; ++i) right[i] = SplitFloat32::word({b[t % 4 + i * 4][t / 4]});
    float d[4] = {};
    multiply_add<SplitFloat32>(d, left, right);
    for (int i = 0; i < 4; ++i) found[t / 4 + i / 2 * 8][t % 4 * 2 + i % 2] = d[i];
  });
  for (int c = 0; c < kUnitColumns; ++c) {
    if (c == 7) {
      EXPECT_TRUE(std::isnan(found[0][c])) << "infinity times 0";
    } else {
      EXPECT_EQ(found[0][c], b[3][c] > 0 ? infinity : -infinity) << c;
    }
    EXPECT_TRUE(std::isnan(found[1][c])) << c;
    EXPECT_TRUE(std::isnan(found[3][c])) << c;
  }
  EXPECT_NEAR(found[2][6] / most, 0.1, 1e-5);
}

TEST(MatrixUnits, MultiplyWarpByWarp) {
  for (bool together : {false, true}) {
    for (bool backwards : {false, true}) {
      set_emulation_backwards(backwards);
      expect_products<Tf32>(together);
      expect_products<BFloat16>(together);
      expect_products<SplitFloat32>(together);
    }
  }
  set_emulation_backwards(false);
}

TEST(MatrixUnits, WantWholeWarps) {
  for (bool together : {false, true})
    EXPECT_THROW(emulate({1, 24, 0, true, together}, [] { share_in_warp({}); }), InternalError);
  // Every thread of a warp must take part.
  EXPECT_THROW(emulate({1, 32, 0, true},
                       [] {
                         if (thread_index() != 7) share_in_warp({});
                       }),
               InternalError);
}

// Unlike the words of a multiplication, single words are exchanged in an incomplete warp too.
TEST(Warps, ExchangeWords) {
  for (bool together : {false, true}) {
    for (int threads : {24, 64}) {
      std::vector<unsigned> found(static_cast<std::size_t>(threads));
      emulate({1, threads, 0, true, together}, [&] {
        unsigned word = 100 + static_cast<unsigned>(thread_index());
        for (int distance : {4, 1}) word = word_of_other(word, distance);
        found[static_cast<std::size_t>(thread_index())] = word;
      });
      for (int t = 0; t < threads; ++t) EXPECT_EQ(found[static_cast<std::size_t>(t)], 100U + static_cast<unsigned>(t ^ 5));
    }
  }
  EXPECT_THROW(emulate({1, 24, 0, true},
                       [] {
                         if (thread_index() != 7) word_of_other(1, 4);
                       }),
               InternalError);
}

}  // namespace
}  // namespace graphrun::cuda
