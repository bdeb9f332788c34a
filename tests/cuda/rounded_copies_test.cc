// Large products of factors rounded to bfloat16, which are copied first: compared with the CPU's products of rounded feeds.
#include "ops/matmul/device/rounded_copies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/executable.h"
#include "tests/cuda/device.h"
#include "tests/sanitized.h"

namespace graphrun {
namespace {

// Each product is just large enough, and no size is a multiple of 8.
constexpr const char* kProducts = R"(graph "network" {
  input %a: FLOAT[509, 515]
  input %b: FLOAT[515, 518]
  input %c: FLOAT[518, 515]
  input %d: FLOAT[509, 518]
  %ab: FLOAT[509, 518] = matmul(%a, %b)
  %ac: FLOAT[509, 518] = matmul(%a, %c; transpose_b=true)
  %ad: FLOAT[515, 518] = matmul_reduce(%a, %d)
  output "ab" = %ab
  output "ac" = %ac
  output "ad" = %ad
})";

TEST(RoundedCopies, GiveTheProductsOfRoundedFactors) {
  if (tests::address_sanitized()) GTEST_SKIP() << "the emulated device's products are loops, too slow under sanitizers";
  const cuda::RowMajorProduct product{509, 518, 515};
  ASSERT_GT(cuda::copies_bytes(product, ProductPrecision::kBFloat16), 0u);
  const Program program = compile(ir::parse(kProducts, "network"), {});
  std::mt19937 random(1);
  Feeds feeds, rounded;
  for (const FeedSpec& f : program.feeds) {
    const Sizes sizes = evaluate(f.shape, {});
    Tensor given(DType::kFloat32, sizes), near(DType::kFloat32, sizes);
    for (std::int64_t i = 0; i < given.count(); ++i) {
      given.data<float>()[i] = static_cast<float>(random()) / 2147483648.f - 1;
      near.data<float>()[i] = cuda::BFloat16::number(cuda::BFloat16::word({given.data<float>()[i], 0}), 0);
    }
    feeds[f.name] = given, rounded[f.name] = near;
  }
  const Target target(tests::tested_device(), WeightForm::kFloat32, ProductPrecision::kBFloat16);
  const std::vector<Tensor> expected = Executable(program, std::make_shared<Variables>(), cpu_device()).run(rounded);
  Executable executable(program, std::make_shared<Variables>(), target);
  for (int run = 0; run < 4; ++run) {  // a device records and replays the last ones
    const std::vector<Tensor> found = executable.run(feeds);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      for (std::int64_t i = 0; i < found[k].count(); ++i)
        ASSERT_NEAR(found[k].at(i), expected[k].at(i), 1e-3) << "output " << k << " at " << i << ", run " << run;
    }
    if (tests::is_emulated()) break;
  }
}

// Small products, several at once and exact ones are multiplied as they are.
TEST(RoundedCopies, AreMadeOnlyWhereTheyPay) {
  EXPECT_EQ(cuda::copies_bytes({64, 1024, 1024}, ProductPrecision::kBFloat16), 0u);
  EXPECT_EQ(cuda::copies_bytes({2000, 1024, 1024}, ProductPrecision::kFloat32), 0u);
  EXPECT_EQ(cuda::copies_bytes({2000, 1024, 1024}, ProductPrecision::kTf32), 0u);
  EXPECT_EQ(cuda::copies_bytes({.m = 512, .n = 512, .k = 1024, .count = 4}, ProductPrecision::kBFloat16), 0u);
  EXPECT_EQ(cuda::copies_bytes({.m = 512, .n = 512, .k = 0}, ProductPrecision::kBFloat16), 0u);
}

}  // namespace
}  // namespace graphrun
