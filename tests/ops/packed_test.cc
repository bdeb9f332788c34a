// Products with packed matrices against sums in float64.
#include "ops/matmul/packed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/kernel.h"

namespace graphrun {
namespace {

std::vector<float> sample(std::int64_t n, std::uint32_t seed) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    out.push_back(static_cast<float>(seed >> 20) / 2048 - 1);
  }
  return out;
}

// The product in ranges that end at these columns.
std::vector<float> run(const PackedProduct& packed, const Product& p, const std::vector<float>& a, const std::vector<float>& b,
                       const std::vector<std::int64_t>& ends) {
  std::vector<float> panels(static_cast<std::size_t>(packed.packed_floats())), c(static_cast<std::size_t>(p.m * p.n), -7);
  std::int64_t begin = 0;
  for (std::int64_t end : ends) {
    packed.pack(b.data(), panels.data(), begin, end);
    begin = end;
  }
  begin = 0;
  for (std::int64_t end : ends) {
    packed.multiply(a.data(), panels.data(), c.data(), begin, end);
    begin = end;
  }
  return c;
}

int checked = 0;

void check(const Product& p) {
  const PackedProduct packed(p);
  if (!packed.available()) return;  // of such sizes, or on this machine
  ++checked;
  const std::vector<float> a = sample(p.m * p.k, 1), b = sample(p.n * p.k, 2);
  std::vector<std::vector<std::int64_t>> cuts = {{p.n}};
  for (std::int64_t at = packed.panel(); at < p.n; at += packed.panel()) cuts.push_back({at, p.n});
  const std::vector<float> whole = run(packed, p, a, b, cuts[0]);
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const double term = static_cast<double>(a[static_cast<std::size_t>(i * p.k + k)]) *
                            b[static_cast<std::size_t>(p.transpose_b ? j * p.k + k : k * p.n + j)];
        sum += term, size += std::abs(term);
      }
      ASSERT_NEAR(whole[static_cast<std::size_t>(i * p.n + j)], sum, 1e-6 * size + 1e-30) << i << ", " << j;
    }
  }
  for (const std::vector<std::int64_t>& cut : cuts) {
    EXPECT_EQ(std::memcmp(run(packed, p, a, b, cut).data(), whole.data(), whole.size() * sizeof(float)), 0)
        << "another result where the columns are cut at " << cut[0];
  }
}

TEST(PackedProduct, IsTheProductWhereverItsColumnsAreCut) {
  for (const bool transposed : {false, true}) {
    for (const auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                 {3, 16, 5},
                                 {20, 50, 7},
                                 {7, 48, 33},
                                 {20, 130, 64},
                                 {1, 95, 40},
                                 {33, 31, 1},
                                 {128, 100, 19},
                                 {2, 300, 40},
                                 {9, 500, 32},
                                 {3, 40, 40}}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
      check({m, n, k, false, transposed});
    }
  }
#if !defined(__x86_64__)
  if (checked == 0) GTEST_SKIP() << "libxsmm writes machine code for x86 alone";
#endif
  EXPECT_GT(checked, 6);
}

TEST(PackedProduct, HasNoCodeForWhatItCannotDo) {
  EXPECT_FALSE(PackedProduct({0, 4, 4}).available());
  EXPECT_FALSE(PackedProduct({4, 4, 0}).available());
  EXPECT_FALSE(PackedProduct({4, 4, 4, true, false}).available());
}

}  // namespace
}  // namespace graphrun
