// Products of few rows on a device, with right factors as they are, compared with the CPU's: up to four rows
// (ops/matmul/vectors.h) at sizes for every kernel of theirs, and more (ops/matmul/few_rows.h).
#include "ops/matmul/vectors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/executable.h"
#include "tests/cuda/device.h"
#include "tests/sanitized.h"

namespace graphrun {
namespace {

struct VectorSizes {
  std::int64_t rows, k, n;
};

// One product, two of one factor, a sum of two with another length, and those of a table's rows; each with its right factors as
// they are and transposed.
Program products_of(const VectorSizes& s) {
  std::string text = fmt::format(
      "graph \"network\" {{\n  input %a: FLOAT[{0}, {1}]\n  input %c: FLOAT[{0}, {3}]\n  input %E: FLOAT[5, {1}]\n"
      "  input %i: INT32[{0}]\n  input %m: BOOL[{0}]\n",
      s.rows, s.k, s.n, s.k + 3);
  for (const bool transposed : {false, true}) {
    const auto shape = [&](std::int64_t k) {
      return transposed ? fmt::format("{}, {}", s.n, k) : fmt::format("{}, {}", k, s.n);
    };
    const char* const to = transposed ? "t" : "r";
    const std::string result = fmt::format("FLOAT[{}, {}]", s.rows, s.n), how = transposed ? "; transpose_b=true" : "";
    text += fmt::format("  input %V{0}: FLOAT[{1}]\n  input %W{0}: FLOAT[{1}]\n  input %U{0}: FLOAT[{2}]\n", to, shape(s.k),
                        shape(s.k + 3));
    text += fmt::format(
        "  %one{0}: {1} = matmul(%a, %V{0}{2})\n  %x{0}: {1}, %y{0}: {1} = matmul_many(%a, %V{0}, %W{0}{2})\n"
        "  %sum{0}: {1} = matmul_sum(%a, %V{0}, %c, %U{0}{2})\n  %g{0}: {1}, %h{0}: {1} = gather_matmul(%E, %i, %m, %V{0}, "
        "%W{0}{2})\n",
        to, result, how);
    for (const char* const name : {"one", "x", "y", "sum", "g", "h"})
      text += fmt::format("  output \"{0}{1}\" = %{0}{1}\n", name, to);
  }
  return compile(ir::parse(text + "}", "network"), {});
}

Feeds feeds_of_vectors(const Program& program) {
  std::mt19937 random(5);
  Feeds feeds;
  for (const FeedSpec& f : program.feeds) {
    Tensor t(f.dtype, evaluate(f.shape, {}));
    for (std::int64_t i = 0; i < t.count(); ++i) {
      if (f.dtype == DType::kFloat32) t.data<float>()[i] = static_cast<float>(random()) / 2147483648.f - 1;
      if (f.dtype == DType::kInt32) t.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 5);
      if (f.dtype == DType::kBool) t.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 3 != 1);
    }
    feeds[f.name] = t;
  }
  return feeds;
}

// How far results are apart, compared with the largest number of each.
double most_apart(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  double result = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    double apart = 0, most = 0;
    for (std::int64_t i = 0; i < expected[k].count(); ++i) {
      const double x = found[k].at(i);
      apart = std::max(apart, std::isfinite(x) ? std::abs(x - expected[k].at(i)) : HUGE_VAL);
      most = std::max(most, std::abs(expected[k].at(i)));
    }
    result = std::max(result, apart / most);
  }
  return result;
}

class Vectors : public ::testing::TestWithParam<VectorSizes> {
 protected:
  void SetUp() override { tests::tested_device(); }
  static std::vector<Tensor> run(const Program& program, const Target& target) {
    return Executable(program, std::make_shared<Variables>(), target).run(feeds_of_vectors(program));
  }
  static void expect_what_the_cpu_gives(const VectorSizes& sizes);
};

void Vectors::expect_what_the_cpu_gives(const VectorSizes& sizes) {
  const Program program = products_of(sizes);
  const std::vector<Tensor> expected = run(program, cpu_device());
  const Device& device = tests::tested_device();
  EXPECT_LT(most_apart(run(program, {device, WeightForm::kFloat32, ProductPrecision::kFloat32}), expected), 2e-6);
  for (const ProductPrecision precision : {ProductPrecision::kBFloat16, ProductPrecision::kTf32}) {
    const double rounded = precision == ProductPrecision::kBFloat16 ? 1. / 64 : 1. / 512;
    const double apart = most_apart(run(program, {device, WeightForm::kFloat32, precision}), expected);
    EXPECT_LT(apart, rounded);
    EXPECT_GT(apart, rounded / 1024) << "nothing was rounded";
  }
}
TEST_P(Vectors, GiveWhatTheCpuGives) { expect_what_the_cpu_gives(GetParam()); }
// One row and more; sizes that packs of four divide, and others; enough columns for blocks of whole lines; more summed numbers
// than a block reads at once; one column.
INSTANTIATE_TEST_SUITE_P(Sizes, Vectors,
                         ::testing::Values(VectorSizes{1, 33, 20}, VectorSizes{1, 1100, 36}, VectorSizes{1, 17, 2052},
                                           VectorSizes{1, 700, 7}, VectorSizes{3, 520, 24}, VectorSizes{4, 65, 41},
                                           VectorSizes{2, 9, 1}, VectorSizes{4, 1, 4}, VectorSizes{5, 33, 20}));

// On a device that has clusters, which the emulated one is given.
class VectorsInClusters : public Vectors {
 protected:
  void SetUp() override {
    Vectors::SetUp();
    if (tests::is_emulated()) tests::emulated_limits().clusters = {3, 2, 0, 0};
  }
  void TearDown() override {
    if (tests::is_emulated()) tests::emulated_limits() = before_;
  }

 private:
  const DeviceLimits before_ = tests::tested_device().backend().limits();
};

TEST_P(VectorsInClusters, GiveWhatTheCpuGives) {
  const VectorSizes& s = GetParam();
  const DeviceLimits& limits = tests::tested_device().backend().limits();
  if (limits.clusters == std::array<int, 4>{}) GTEST_SKIP() << "the device has no clusters";
  EXPECT_GT(vector_parts({ProductGroup::Kind::kMany, {{s.rows, s.n, s.k}}}, limits), 1);
  expect_what_the_cpu_gives(s);
}
// One row and more; sizes that packs of four divide, and others; clusters of two and of four; parts with more rows than a block
// reads at once, and with fewer.
INSTANTIATE_TEST_SUITE_P(Sizes, VectorsInClusters,
                         ::testing::ValuesIn(tests::few_of<VectorSizes>(
                             {{1, 301, 7}, {3, 150, 24}, {1, 130, 41}, {1, 300, 36}, {1, 1100, 20}, {4, 601, 33}}, 3)));

class PlainFewRows : public VectorsInClusters {
 protected:
  void SetUp() override {
    VectorsInClusters::SetUp();
    if (!tests::is_emulated()) return;
    DeviceLimits& limits = tests::emulated_limits();
    limits.threads = 64, limits.shared = 96 << 10, limits.splits_float32 = true;
  }
};

TEST_P(PlainFewRows, GiveWhatTheCpuGives) {
  if (tests::tested_device().backend().limits().clusters == std::array<int, 4>{}) GTEST_SKIP() << "the device has no clusters";
  expect_what_the_cpu_gives(GetParam());
  if (!tests::is_emulated()) return;
  std::size_t plain = 0;
  for (const std::string& text : tests::generated_texts()) plain += text.find("few_rows::PlainRight") != std::string::npos;
  EXPECT_GE(plain, 3u * 2u * 2u);  // products alone, of one factor, and summed; rounded in two ways; transposed or not
}
// Sizes that tiles and steps divide, and others.
INSTANTIATE_TEST_SUITE_P(Sizes, PlainFewRows, ::testing::Values(VectorSizes{5, 130, 127}, VectorSizes{33, 128, 136}));

TEST(VectorProducts, HaveFewRowsAndFactors) {
  using Kind = ProductGroup::Kind;
  const MatrixProduct product{4, 1000, 1000};
  EXPECT_TRUE(are_vector_products({Kind::kMany, {product}}));
  EXPECT_TRUE(are_vector_products({Kind::kMany, std::vector<MatrixProduct>(8, product)}));
  EXPECT_FALSE(are_vector_products({Kind::kMany, std::vector<MatrixProduct>(9, product)}));
  EXPECT_FALSE(are_vector_products({Kind::kMany, {{5, 1000, 1000}}}));
  EXPECT_FALSE(are_vector_products({Kind::kMany, {{4, 1000, 1000, true}}}));  // the left factor is read by columns
  EXPECT_FALSE(are_vector_products({Kind::kMany, {{4, 1000, 0}}}));           // zeros, for which there is another kernel
  EXPECT_FALSE(are_vector_products({Kind::kMany, {{4, 1000, 100000}}}));
}

// As many blocks as a large device has room for, each with some rows.
TEST(VectorProducts, AreDividedAmongBlocksOfAClusterIfTheyAreFew) {
  using Kind = ProductGroup::Kind;
  const auto parts = [](const ProductGroup& group, const std::array<int, 4>& clusters) {
    DeviceLimits limits;
    limits.clusters = clusters;
    return vector_parts(group, limits);
  };
  constexpr std::array<int, 4> kH100 = {66, 32, 16, 7};
  EXPECT_EQ(parts({Kind::kMany, {{1, 1000, 1000}}}, kH100), 8);
  EXPECT_EQ(parts({Kind::kMany, {{1, 1000, 1000}}}, {3, 2, 0, 0}), 4);
  EXPECT_EQ(parts({Kind::kMany, {{1, 1000, 1000}}}, {}), 1);
  EXPECT_EQ(parts({Kind::kMany, std::vector<MatrixProduct>(3, {1, 1000, 1000})}, kH100), 4);
  EXPECT_EQ(parts({Kind::kMany, {{1, 2000, 1000}}}, kH100), 4) << "more than three blocks for each multiprocessor";
  EXPECT_EQ(parts({Kind::kMany, {{1, 10000, 620}}}, kH100), 1);
  EXPECT_EQ(parts({Kind::kSum, {{1, 620, 620}, {1, 620, 2000}}}, kH100), 8);
  EXPECT_EQ(parts({Kind::kMany, {{1, 1000, 127}}}, kH100), 1);
  EXPECT_EQ(parts({Kind::kSum, {{1, 1000, 64}, {1, 1000, 64}}}, kH100), 2);
  MatrixProduct transposed{1, 1000, 1000};
  transposed.transpose_b = true;
  EXPECT_EQ(parts({Kind::kMany, {transposed}}, kH100), 1);
}

}  // namespace
}  // namespace graphrun
