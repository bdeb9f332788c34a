// topk of long float rows, which vector code looks through, against a search element by element.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "ops/index/topk_simd.h"

namespace graphrun {
namespace {

// Few distinct numbers among others, and some that are none, so that elements are equal and rows hold what is not ordered.
std::vector<float> row_of(std::int64_t n, double share_of_nan, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& e : x) {
    const std::uint32_t kind = random() % 1000;
    e = kind < 1000 * share_of_nan ? std::numeric_limits<float>::quiet_NaN()
        : kind < 700               ? static_cast<float>(random() % 7)
        : kind < 990               ? static_cast<float>(random()) * 1e-9F
                                   : -std::numeric_limits<float>::infinity();
  }
  return x;
}

TEST(TopkRows, AreThoseThatComparingEveryElementGives) {
  for (const std::int64_t n : {1, 15, 16, 64, 65, 1000, 1037}) {
    for (const std::int64_t k : {1, 2, 5, 40}) {
      if (k > n) continue;
      for (const double nan : {0.0, 0.1, 0.95, 1.0}) {
        const std::vector<float> x = row_of(n, nan, static_cast<std::uint32_t>(n + k));
        const auto count = static_cast<std::size_t>(k);
        std::vector<float> expected(count), values(count);
        std::vector<std::int32_t> expected_indices(count), indices(count);
        topk_row(x.data(), n, expected.data(), expected_indices.data(), k);
        topk_rows(x.data(), 1, n, values.data(), indices.data(), k);
        EXPECT_EQ(indices, expected_indices) << n << " elements, the " << k << " greatest, NaN " << nan;
        EXPECT_EQ(std::memcmp(values.data(), expected.data(), count * sizeof(float)), 0);
      }
    }
  }
}

}  // namespace
}  // namespace graphrun
