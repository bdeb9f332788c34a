// Products in a scan that runs launch by launch, whose right factors are stored before the first step: compared with the same
// products of rounded factors one by one.
#include "ops/matmul/few_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "ops/matmul/vectors.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/packed_weights.h"
#include "tests/cuda/device.h"

namespace graphrun {
namespace {

struct FewRowsSizes {
  std::int64_t batch, h, a;
};

// A product, several of one factor, and a sum of transposed ones. The softmax keeps the scan from becoming one launch.
Program program_of(const FewRowsSizes& s) {
  const std::string text = fmt::format(
      R"(graph "network" {{
  input %x: FLOAT[time, batch, {0}]
  input %h0: FLOAT[batch, {0}]
  input %W: FLOAT[{1}, {0}]
  input %U: FLOAT[{0}, {1}]
  input %V: FLOAT[{0}, {1}]
  input %R: FLOAT[{0}, {1}]
  input %S: FLOAT[{0}, {1}]
  %end: FLOAT[batch, {0}], %all_b: FLOAT[time, batch, {1}], %all_p: FLOAT[time, batch, {0}], %all_s: FLOAT[time, batch, {0}], %all_w: FLOAT[time, batch, {0}] = scan(%h0, %x, %W, %U, %V, %R, %S; states=1, each=1, steps=<time>, reverse=false) body "b" {{
    input %h: FLOAT[batch, {0}]
    input %x: FLOAT[batch, {0}]
    input %W: FLOAT[{1}, {0}]
    input %U: FLOAT[{0}, {1}]
    input %V: FLOAT[{0}, {1}]
    input %R: FLOAT[{0}, {1}]
    input %S: FLOAT[{0}, {1}]
    input %step: INT32[]
    %a: FLOAT[batch, {1}], %b: FLOAT[batch, {1}] = matmul_many(%h, %U, %V)
    %t: FLOAT[batch, {1}] = tanh(%b)
    %p: FLOAT[batch, {0}] = matmul(%t, %W)
    %s: FLOAT[batch, {0}] = matmul_sum(%a, %R, %b, %S; transpose_b=true)
    %z: FLOAT[batch, {0}] = mul(%p, %s)
    %w: FLOAT[batch, {0}] = softmax(%z; axis=1)
    %n: FLOAT[batch, {0}] = tanh(%x)
    output "h" = %n
    output "all_b" = %b
    output "all_p" = %p
    output "all_s" = %s
    output "all_w" = %w
  }}
  output "b" = %all_b
  output "p" = %all_p
  output "s" = %all_s
  output "w" = %all_w
}})",
      s.h, s.a);
  return compile(ir::parse(text, "network"), {});
}

SymbolValues symbols_of_few(std::int64_t batch) { return {{Symbol::named("time"), 3}, {Symbol::named("batch"), batch}}; }

std::size_t prepared_in(const Program& program, std::int64_t batch, Target target) {
  PackedWeightsStore store(program);
  const auto binding = graphrun::bind(program, symbols_of_few(batch), target, store);
  std::size_t count = 0;
  for (const BoundInstruction* bound : binding->numbered) count += bound->prepared;
  return count;
}

std::vector<Tensor> run_few(const Program& program, std::int64_t batch, Target target) {
  std::mt19937 random(3);
  Feeds feeds;
  for (const FeedSpec& f : program.feeds) {
    Tensor t(DType::kFloat32, evaluate(f.shape, symbols_of_few(batch)));
    for (float& x : t.span<float>()) x = static_cast<float>(random()) / 2147483648.f - 1;
    feeds[f.name] = t;
  }
  Executable executable(program, std::make_shared<Variables>(), target);
  std::vector<Tensor> results;
  const int runs = tests::is_emulated() && batch > 20 ? 1 : 4;  // a device records and replays the last ones
  for (int i = 0; i < runs; ++i) results = executable.run(feeds);
  return results;
}

class FewRows : public ::testing::TestWithParam<FewRowsSizes> {
 protected:
  void SetUp() override {
    tests::tested_device();
    if (!tests::is_emulated()) return;
    before_ = tests::emulated_limits();
    DeviceLimits& limits = tests::emulated_limits();
    limits.threads = 64, limits.shared = 96 << 10, limits.clusters = {3, 2, 0, 0}, limits.splits_float32 = true;
  }
  void TearDown() override {
    if (tests::is_emulated()) tests::emulated_limits() = before_;
  }
  static Target in(ProductPrecision precision) { return {tests::tested_device(), WeightForm::kFloat32, precision}; }

 private:
  DeviceLimits before_;
};

// How far results b, p and s are apart, compared with the largest number.
double apart(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  double most_apart = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    double apart = 0, most = 0;
    for (std::int64_t i = 0; i < expected[k].count(); ++i) {
      const double x = found[k].at(i);
      apart = std::max(apart, std::isfinite(x) ? std::abs(x - expected[k].at(i)) : HUGE_VAL);
      most = std::max(most, std::abs(expected[k].at(i)));
    }
    most_apart = std::max(most_apart, apart / most);
  }
  return most_apart;
}

TEST_P(FewRows, GiveTheProductsOfRoundedFactors) {
  const FewRowsSizes& sizes = GetParam();
  const Program program = program_of(sizes);
  const std::vector<Tensor> exact = run_few(program, sizes.batch, cpu_device());
  for (const ProductPrecision precision : {ProductPrecision::kFloat32, ProductPrecision::kBFloat16, ProductPrecision::kTf32}) {
    const Target target = in(precision);
    if (target.device->backend().limits().clusters == std::array<int, 4>{}) GTEST_SKIP() << "the device has no clusters";
    const bool exactly = precision == ProductPrecision::kFloat32;
    // A few float32 rows are multiplied without being stored.
    ASSERT_EQ(prepared_in(program, sizes.batch, target), exactly && sizes.batch <= VectorProducts::kMostRows ? 0u : 3u);
    const std::vector<Tensor> found = run_few(program, sizes.batch, target);
    if (exactly) {
      EXPECT_LT(apart(found, exact), 2e-6);
      continue;
    }
    const double rounded = precision == ProductPrecision::kBFloat16 ? 1. / 64 : 1. / 512;
    EXPECT_LT(apart(found, exact), rounded);
    EXPECT_GT(apart(found, exact), rounded / 1024) << "nothing was rounded";
    if (!tests::is_emulated()) continue;
    // Single products round alike, and add in another order.
    const auto clusters = std::exchange(tests::emulated_limits().clusters, {});
    EXPECT_LT(apart(found, run_few(program, sizes.batch, target)), 2e-4);  // a factor may round to the other neighbor
    tests::emulated_limits().clusters = clusters;
  }
}
// One row; all rows of a tile and one more; the most rows. Sizes that tiles, steps and packs of four divide, and others.
INSTANTIATE_TEST_SUITE_P(Sizes, FewRows,
                         ::testing::Values(FewRowsSizes{1, 24, 16}, FewRowsSizes{17, 64, 130}, FewRowsSizes{5, 77, 101},
                                           FewRowsSizes{128, 20, 9}, FewRowsSizes{40, 100, 68}));

class FewRowsAre : public FewRows {};
INSTANTIATE_TEST_SUITE_P(Only, FewRowsAre, ::testing::Values(FewRowsSizes{4, 24, 16}));
TEST_P(FewRowsAre, UsedWhereTheyCanBe) {
  const Program program = program_of(GetParam());
  const Target rounded = in(ProductPrecision::kBFloat16);
  if (rounded.device->backend().limits().clusters == std::array<int, 4>{}) GTEST_SKIP() << "the device has no clusters";
  EXPECT_EQ(prepared_in(program, 128, rounded), 3u);
  EXPECT_EQ(prepared_in(program, 129, rounded), 0u);                       // too many rows
  EXPECT_EQ(prepared_in(program, 4, in(ProductPrecision::kFloat32)), 0u);  // as they are
  EXPECT_EQ(prepared_in(program, 5, in(ProductPrecision::kFloat32)), 3u);
  EXPECT_EQ(prepared_in(program_of({4, 80000, 16}), 4, rounded), 2u);  // no room for the rows of one factor
  if (!tests::is_emulated()) return;
  tests::emulated_limits().clusters = {};
  EXPECT_EQ(prepared_in(program, 4, rounded), 0u);
}

}  // namespace
}  // namespace graphrun
