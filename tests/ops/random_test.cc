// dropout: its draws depend only on seed, step, key, scan steps and coordinates.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/ir/builder.h"
#include "runtime/base/random.h"
#include "runtime/threads/threads.h"
#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using tests::KernelCall;
using tests::run_kernel;

Attributes attributes(double rate, std::string key) {
  Attributes a;
  a.set("rate", rate);
  a.set("key", std::move(key));
  return a;
}

Tensor ones(DType dtype, const Sizes& sizes) {
  Tensor t(DType::kFloat64, sizes);
  for (double& x : t.span<double>()) x = 1;
  return t.converted(dtype);
}

struct Draw {
  double rate = 0.5;
  std::string key = "layers.0.x";
  RandomState random{7, 3, {}};
  DType dtype = DType::kFloat32;
};

Tensor dropped(const Sizes& sizes, const Draw& d = {}) {
  return run_kernel({"dropout", {ones(d.dtype, sizes)}, attributes(d.rate, d.key), d.random, {}}, d.dtype, sizes);
}

bool equal(const Tensor& a, const Tensor& b) { return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0; }

TEST(Dropout, IsPhiloxOfTheDocumentedCounter) {
  const Draw d;
  const Sizes sizes = {3, 2, 1029};  // rows longer than a piece, and not a multiple of four
  const Tensor y = dropped(sizes, d);
  const std::uint64_t key = fold_coordinate(fold_coordinate(d.random.seed, hash_name(d.key.data(), d.key.size())), 0);
  for (std::uint64_t t = 0; t < 3; ++t) {
    for (std::uint64_t b = 0; b < 2; ++b) {
      const std::uint64_t row = fold_coordinate(fold_coordinate(0, t), b);
      for (std::uint32_t w = 0; w < 1029; ++w) {
        const Philox four = philox(key, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), w / 4, 3);
        const bool stays = unit_float(four.v[w % 4]) >= 0.5f;
        ASSERT_EQ(y.at(static_cast<std::int64_t>((t * 2 + b) * 1029 + w)), stays ? 2.0 : 0.0) << t << " " << b << " " << w;
      }
    }
  }
}

TEST(Dropout, KeepsTheAskedShareAndTheMean) {
  for (double rate : {0.0, 0.1, 0.5, 0.9}) {
    Draw d;
    d.rate = rate;
    const Tensor y = dropped({200, 650}, d);
    double kept = 0, sum = 0;
    for (float x : y.span<float>()) kept += x != 0, sum += static_cast<double>(x);
    const auto n = static_cast<double>(y.count());
    const double deviation = 4 * std::sqrt(rate * (1 - rate) / n) + 1e-6;
    EXPECT_NEAR(kept / n, 1 - rate, deviation) << rate;
    EXPECT_NEAR(sum / n, 1, deviation / (1 - rate)) << rate;
  }
}

TEST(Dropout, DoesNotDependOnPadding) {
  const Tensor y = dropped({5, 3, 70}), longer = dropped({9, 3, 70}), wider = dropped({5, 4, 70}), more = dropped({5, 3, 91});
  EXPECT_EQ(std::memcmp(y.raw(), longer.raw(), y.bytes()), 0);
  for (std::int64_t t = 0; t < 5; ++t) {
    for (std::int64_t b = 0; b < 3; ++b) {
      const float* row = y.data<float>() + (t * 3 + b) * 70;
      EXPECT_EQ(std::memcmp(row, wider.data<float>() + (t * 4 + b) * 70, 70 * sizeof(float)), 0);
      EXPECT_EQ(std::memcmp(row, more.data<float>() + (t * 3 + b) * 91, 70 * sizeof(float)), 0);
    }
  }
}

TEST(Dropout, AStepOfAScanDrawsAsItsSliceOutside) {
  const Tensor whole = dropped({6, 4, 37});
  for (std::int64_t t = 0; t < 6; ++t) {
    const std::int64_t steps[] = {t};
    Draw d;
    d.random.scan_steps = steps;
    const Tensor slice = dropped({4, 37}, d);
    EXPECT_EQ(std::memcmp(slice.raw(), whole.data<float>() + t * 4 * 37, slice.bytes()), 0) << t;
  }
}

TEST(Dropout, DrawsAgainForEverySeedStepKeyAndScanStep) {
  const Tensor y = dropped({4, 64});
  EXPECT_TRUE(equal(y, dropped({4, 64})));
  const std::int64_t steps[] = {0};
  std::vector<Draw> others(5);
  others[0].random.seed = 8;
  others[1].random.step = 4;
  others[2].random.step = 3 + (std::uint64_t{1} << 32);
  others[3].key = "layers.1.x";
  others[4].random.scan_steps = steps;
  for (const Draw& d : others) {
    const Tensor other = dropped({4, 64}, d);
    int same = 0;
    for (std::int64_t i = 0; i < 256; ++i) same += y.at(i) == other.at(i);
    EXPECT_NEAR(same, 128, 48);  // six standard deviations
  }
}

TEST(Dropout, DoesNotDependOnThreads) {
  if (core_count() < 2) GTEST_SKIP() << "one core";
  const int before = threads();
  set_threads(1);
  const Tensor one = dropped({300, 150});
  set_threads(2);
  const Tensor two = dropped({300, 150});
  set_threads(before);
  EXPECT_TRUE(equal(one, two));
}

TEST(Dropout, DrawsAlikeInBothPrecisionsAndForTheMask) {
  Draw d;
  d.dtype = DType::kFloat64;
  const Tensor single = dropped({3, 33}), dbl = dropped({3, 33}, d);
  for (std::int64_t i = 0; i < single.count(); ++i) EXPECT_EQ(single.at(i), dbl.at(i)) << i;
  const KernelCall mask{"dropout_mask", {ones(DType::kFloat32, {3, 33})}, attributes(d.rate, d.key), d.random, {}};
  EXPECT_TRUE(equal(single, run_kernel(mask, DType::kFloat32, {3, 33})));
}

TEST(Dropout, DroppedElementsAreZero) {
  Tensor x = ones(DType::kFloat32, {1, 64});
  for (float& e : x.span<float>()) e = std::numeric_limits<float>::infinity();
  const Tensor y = run_kernel({"dropout", {x}, attributes(0.5, ""), {}, {}}, DType::kFloat32, {1, 64});
  for (float e : y.span<float>()) EXPECT_TRUE(e == 0 || std::isinf(e));
}

TEST(Dropout, TakesScalarsAndEmptyTensors) {
  EXPECT_EQ(dropped({}).count(), 1);
  EXPECT_EQ(dropped({0, 5}).count(), 0);
  EXPECT_EQ(dropped({5, 0}).count(), 0);
}

TEST(Dropout, RefusesARateThatDropsAll) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {Type::kFloat, {Dim(3)}});
  EXPECT_THROW(builder.op("dropout", {x}, {{"rate", 1.0}}), ir::OpError);
  EXPECT_THROW(builder.op("dropout", {x}, {{"rate", -0.1}}), ir::OpError);
  EXPECT_NO_THROW(builder.op("dropout", {x}, {{"rate", 0.99}}));
}

}  // namespace
}  // namespace graphrun
