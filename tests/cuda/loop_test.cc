// Loops that a device runs as one launch, compared with the CPU: every cell, forward and backward, at shapes that split
// unevenly over blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/scan/launch.h"
#include "tests/compiler/network_fixture.h"
#include "tests/cuda/device.h"
#include "tests/cuda/loops.h"
#include "tests/folders.h"
#include "tests/runtime/two_directions.h"
#include "tests/sanitized.h"

namespace graphrun {
namespace {

struct Shape4 {
  std::int64_t time, batch, width, hidden;
};

// The outputs of a layer, and every gradient.
Program layer_program(const std::string& cell, const Shape4& shape, Precision precision) {
  GraphRequest request;
  request.path = tests::source_folder() + "/tests/bench/layer.pbtxt";
  request.graphs_root = tests::source_folder() + "/graphs";
  request.bindings = {
      {"cell", "cells/" + cell + ".pbtxt", {}},
      {"width", std::to_string(cell == "sru" ? shape.hidden : shape.width), {}},  // its input is as wide as its state
      {"hidden", std::to_string(shape.hidden), {}}};
  CompileOptions options;
  options.precision = precision;
  return compile(tests::with_gradients(load_graph(request)).graph, options);
}

std::vector<Tensor> run_layer(const std::string& cell, const Shape4& shape, Precision precision, Target target) {
  auto variables = std::make_shared<Variables>();
  Executable executable(layer_program(cell, shape, precision), variables, target);
  initialize(executable.program(), *variables, 1);
  const Feeds feeds = random_feeds(executable.program(), symbols_of(shape.time, shape.batch), precision, 7);
  executable.run(feeds);
  return executable.run(feeds);  // a second time: memory that a run leaves behind has no effect
}

class Loop : public ::testing::TestWithParam<std::string> {
 private:
  const ByColumns by_columns_;
};

void expect_what_the_cpu_computes(const std::string& cell, const Shape4& shape) {
  for (Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
    // Sums of more terms, added in another order.
    const double width = std::max(1.0, std::sqrt(static_cast<double>(shape.hidden) / 40));
    const double tolerance = width * (precision == Precision::kFloat64 ? 1e-10 : 2e-5);
    const std::vector<Tensor> expected = run_layer(cell, shape, precision, cpu_device());
    const std::vector<Tensor> found = run_layer(cell, shape, precision, tests::tested_device());
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      ASSERT_EQ(found[k].sizes(), expected[k].sizes());
      double most = 1;
      for (std::int64_t i = 0; i < found[k].count(); ++i) most = std::max(most, std::abs(expected[k].at(i)));
      for (std::int64_t i = 0; i < found[k].count(); ++i) {
        ASSERT_NEAR(found[k].at(i), expected[k].at(i), tolerance * most)
            << "output " << k << " at " << i << ", time " << shape.time << ", batch " << shape.batch << ", width "
            << shape.width << ", hidden " << shape.hidden;
      }
    }
  }
}

TEST_P(Loop, ComputesWhatTheCpuComputes) {
  const std::vector<Shape4> all = {{3, 2, 5, 8},
                                   {5, 1, 4, 16},
                                   {4, 7, 6, 13},
                                   {1, 3, 4, 4},
                                   {2, 33, 8, 36},
                                   // The weights of several gates do not fit into a block; in float64, neither do the rows.
                                   {2, 60, 4, 40},
                                   {2, 100, 4, 8},
                                   // The text contains the sizes.
                                   {2, 3, 4, 132}};
  for (const Shape4& shape : tests::few_of(all, 2)) expect_what_the_cpu_computes(GetParam(), shape);
  if (!tests::is_emulated()) return;
  // Forward and backward were loops, and blocks synchronized in both.
  std::size_t loops = 0;
  for (const std::string& text : tests::generated_texts()) {
    if (text.find("loop::part_of_grid") == std::string::npos) continue;
    ++loops;
    // If blocks read only their own columns, none waits for another.
    const bool multiplies = text.find("loop::multiply") != std::string::npos;
    EXPECT_EQ(text.find("grid_barrier") != std::string::npos, multiplies);
  }
  EXPECT_GE(loops, 2u);
}

TEST_P(Loop, ComputesItInClusters) {
  const WithClusters clusters;
  // Fewer rows than clusters, as many, one more; columns that blocks cannot share evenly; weights too large for the cluster.
  const std::vector<Shape4> shapes = {{3, 1, 5, 16},  {4, 3, 4, 37}, {5, 7, 6, 18}, {1, 4, 4, 32},
                                      {2, 33, 8, 40}, {2, 5, 4, 96}, {2, 5, 4, 132}};
  for (const Shape4& shape : tests::few_of(shapes, 2)) expect_what_the_cpu_computes(GetParam(), shape);
  const bool multiplies = GetParam() != "lrn" && GetParam() != "sru";
  if (!multiplies) return;
  // A GPU runs narrower layers by rows, and has no room for all weights of wider ones.
  const Shape4 wide = tests::is_emulated() ? shapes[1] : Shape4{4, 3, 4, 160};
  clusters.expect_both_in_clusters(layer_program(GetParam(), wide, Precision::kFloat32), symbols_of(wide.time, wide.batch),
                                   tests::tested_device());
}

// float32 itself, on matrix units: on a grid, and in clusters.
TEST_P(Loop, ComputesItOnMatrixUnits) {
  if (!tests::is_emulated() || (GetParam() != "atr" && GetParam() != "gru")) GTEST_SKIP() << "a GPU runs all loops so";
  const DeviceLimits before = tests::emulated_limits();
  for (const bool in_clusters : {false, true}) {
    std::optional<WithClusters> clusters;
    if (in_clusters) clusters.emplace();
    DeviceLimits& limits = tests::emulated_limits();
    limits.threads = 64, limits.splits_float32 = true, limits.row_loops = false;  // two warps
    expect_what_the_cpu_computes(GetParam(), {3, 19, 7, 37});
  }
  tests::emulated_limits() = before;
  std::size_t split = 0;  // forward and backward, in both ways
  for (const std::string& text : tests::generated_texts())
    split += text.find("_rounded<cuda::SplitFloat32") != std::string::npos;
  EXPECT_GE(split, 4u);
}

// A GPU has more memory, and its own number of threads.
TEST_P(Loop, ComputesItAtAnyShape) {
  std::mt19937 random(std::hash<std::string>()(GetParam()));
  // As many values below the square root as above it.
  const auto size = [&random](double most) {
    return static_cast<std::int64_t>(std::pow(most, std::uniform_real_distribution<>(0, 1)(random)));
  };
  const bool small = tests::is_emulated();
  for (int i = 0; i < (small ? 2 : 20); ++i) {
    expect_what_the_cpu_computes(
        GetParam(), small ? Shape4{size(5), size(20), size(20), size(40)} : Shape4{size(40), size(257), size(700), size(1100)});
  }
}

// Products of rounded factors on matrix units.
class RoundedLoop : public ::testing::TestWithParam<std::tuple<std::string, ProductPrecision>> {
 protected:
  void SetUp() override {
    tests::tested_device();
    if (tests::is_emulated()) tests::emulated_limits().threads = 64;  // two warps
  }
  void TearDown() override {
    if (tests::is_emulated()) tests::emulated_limits() = limits_;
  }
  void expect_rounding(const std::vector<Shape4>& shapes) const;

  const DeviceLimits limits_ = tests::tested_device().backend().limits();
};

void RoundedLoop::expect_rounding(const std::vector<Shape4>& shapes) const {
  const auto& [cell, products] = GetParam();
  // Generated kernels take most of the time, and they are not sanitized.
  for (const Shape4& shape : tests::few_of(shapes, 1)) {
    const std::vector<Tensor> exact = run_layer(cell, shape, Precision::kFloat32, tests::tested_device());
    const Target target(tests::tested_device(), WeightForm::kFloat32, products);
    const std::vector<Tensor> found = run_layer(cell, shape, Precision::kFloat32, target);
    // The difference from float32 is what rounding explains: neither larger nor smaller.
    // Products before and after the loop are cuBLAS's, which may cut TF32 factors off: an error up to twice as large, and
    // always toward zero, so that sums add it up.
    const bool cuts = products == ProductPrecision::kTf32 && !tests::is_emulated();
    const double bits = products != ProductPrecision::kTf32 ? 8 : cuts ? 10 : 11;
    double size = 0, distance = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      double most = 1e-3;
      for (std::int64_t i = 0; i < found[k].count(); ++i) most = std::max(most, std::abs(exact[k].at(i)));
      for (std::int64_t i = 0; i < found[k].count(); ++i) {
        const double off = (found[k].at(i) - exact[k].at(i)) / most;
        ASSERT_NEAR(off, 0, 64 * std::exp2(-bits)) << "output " << k << " at " << i << ", hidden " << shape.hidden;
        size += 1, distance += off * off;
      }
    }
    EXPECT_LT(std::sqrt(distance / size), (cuts ? 6 : 4) * std::exp2(-bits));
    EXPECT_GT(std::sqrt(distance / size), std::exp2(-bits - 8));
    if (!tests::is_emulated()) continue;
    // Kernel by kernel, if no launch has room for a loop: sums have another order, so occasionally a state is just on the other
    // side of a half and is rounded the other way. That also changes what depends on it, such as a column of one gradient.
    const std::size_t shared = std::exchange(tests::emulated_limits().shared, 0);
    const std::vector<Tensor> expected = run_layer(cell, shape, Precision::kFloat32, target);
    tests::emulated_limits().shared = shared;
    double others = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      double most = 1e-3;
      for (std::int64_t i = 0; i < found[k].count(); ++i) most = std::max(most, std::abs(expected[k].at(i)));
      for (std::int64_t i = 0; i < found[k].count(); ++i) {
        const double off = std::abs(found[k].at(i) - expected[k].at(i));
        ASSERT_LE(off, most * std::exp2(-bits)) << "output " << k << " at " << i << ", hidden " << shape.hidden;
        others += off > 1e-5 * (1 + std::abs(expected[k].at(i)));
      }
    }
    EXPECT_LE(others / size, 0.15) << "hidden " << shape.hidden;
  }
}

TEST_P(RoundedLoop, ComputesWhatSingleProductsOfRoundedFactorsDo) {
  const auto loops = [] {
    std::size_t count = 0;
    for (const std::string& text : tests::generated_texts()) count += text.find("loop::multiply_rounded<") != std::string::npos;
    return count;
  };
  // Few rows, whose tiles several warps share; many rows, and weights too large for a block; sizes that no tile divides.
  expect_rounding({{3, 2, 5, 8}, {3, 33, 7, 37}, {2, 70, 4, 60}, {2, 5, 4, 132}});
  if (tests::is_emulated()) {
    EXPECT_GE(loops(), 2u);
  }
}

// Blocks with their own rows, which read only the passed values of these rows.
TEST_P(RoundedLoop, ComputesItInPartsOfTheRows) {
  if (tests::is_emulated()) tests::emulated_limits().multiprocessors = 6, tests::emulated_limits().shared = 64 << 10;
  const Shape4 shape = {3, 70, 5, 20};
  expect_rounding({shape, {2, 33, 7, 37}});
  const auto& [cell, products] = GetParam();
  const Program program = layer_program(cell, shape, Precision::kFloat32);
  if (!tests::is_emulated()) return;
  for (const LoopKernel::Traits& loop :
       loops_of(program, symbols_of(shape.time, shape.batch), Target(tests::tested_device(), WeightForm::kFloat32, products))) {
    EXPECT_GT(loop.row_parts, 1);
  }
}

TEST_P(RoundedLoop, ComputesItInClusters) {
  const WithClusters clusters;
  const Shape4 shape = {3, 19, 7, 37};
  expect_rounding({{3, 2, 5, 16}, shape, {2, 40, 4, 24}, {2, 19, 4, 132}});
  const auto& [cell, products] = GetParam();
  clusters.expect_both_in_clusters(layer_program(cell, shape, Precision::kFloat32), symbols_of(shape.time, shape.batch),
                                   Target(tests::tested_device(), WeightForm::kFloat32, products));
}

// Two products of one left factor, one of which stays in float32: on a grid and in clusters.
TEST(LoopPrecisions, MayDifferInOneLoop) {
  const char* const text = R"(graph "network" {
  input %x: FLOAT[time, batch, 64]
  input %h0: FLOAT[batch, 64]
  input %U: FLOAT[64, 64]
  input %V: FLOAT[64, 64]
  %end: FLOAT[batch, 64], %us: FLOAT[time, batch, 64], %vs: FLOAT[time, batch, 64] = scan(%h0, %x, %U, %V; states=1, each=1, steps=<time>) body "b" {
    input %h: FLOAT[batch, 64]
    input %x: FLOAT[batch, 64]
    input %U: FLOAT[64, 64]
    input %V: FLOAT[64, 64]
    input %step: INT32[]
    %u = matmul(%h, %U)
    %v = matmul(%h, %V; precision="FLOAT32")
    %s = add(%u, %v)
    %a = add(%s, %x)
    %h1 = tanh(%a)
    output "h" = %h1
    output "u" = %u
    output "v" = %v
  }
  output "end" = %end
  output "us" = %us
  output "vs" = %vs
})";
  const DeviceLimits before = tests::tested_device().backend().limits();
  if (tests::is_emulated()) tests::emulated_limits().threads = 64;  // two warps, as matrix units need
  const Program program = compile(ir::parse(text, "network"), {});
  const SymbolValues symbols = symbols_of(4, 6);
  Feeds feeds = random_feeds(program, symbols, Precision::kFloat32, 5);
  scale(feeds, 0.3f);
  const auto run = [&](Target target) { return Executable(program, std::make_shared<Variables>(), target).run(feeds); };
  const std::vector<Tensor> exact = run(cpu_device());
  for (const bool clusters : {false, true}) {
    std::optional<WithClusters> with;
    if (clusters) with.emplace();
    for (const ProductPrecision products : {ProductPrecision::kTf32, ProductPrecision::kBFloat16}) {
      const Target target(tests::tested_device(), WeightForm::kFloat32, products);
      const std::vector<Tensor> found = run(target);
      const auto furthest = [&](std::size_t k, std::int64_t count) {
        double most = 0;
        for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(found[k].at(i) - exact[k].at(i)));
        return most;
      };
      // At the first step both read the same state; later ones have what was rounded in them.
      EXPECT_GT(furthest(1, 6 * 64), 1e-5);
      EXPECT_LT(furthest(2, 6 * 64), 2e-6);
      EXPECT_LT(furthest(2, 4 * 6 * 64), 0.05);
      EXPECT_EQ(loops_of(program, symbols, target).size(), 1u);
    }
  }
  if (tests::is_emulated()) tests::emulated_limits() = before;
}

// Ops that move elements, in a loop with a product with weights: by columns. Gates are parts of one product's result, as in
// cells that are written with one matrix.
TEST(LoopMoves, ComputeWhatTheCpuComputes) {
  const ByColumns by_columns;
  const auto graph = [](const char* hidden, const char* both) {
    std::string text = R"(graph "network" {
  input %x: FLOAT[time, batch, BOTH]
  input %places: INT32[time, batch]
  input %U: FLOAT[HIDDEN, BOTH]
  input %E: FLOAT[5, HIDDEN]
  %h0: FLOAT[batch, HIDDEN] = full(; shape=[batch, HIDDEN], value=0.25, type="FLOAT")
  %end: FLOAT[batch, HIDDEN] = scan(%h0, %x, %places, %U, %E; states=1, each=2, steps=<time>) body "b" {
    input %h: FLOAT[batch, HIDDEN]
    input %x: FLOAT[batch, BOTH]
    input %place: INT32[batch]
    input %U: FLOAT[HIDDEN, BOTH]
    input %E: FLOAT[5, HIDDEN]
    input %step: INT32[]
    %u: FLOAT[batch, BOTH] = matmul(%h, %U)
    %s: FLOAT[batch, BOTH] = add(%u, %x)
    %a: FLOAT[batch, HIDDEN] = slice(%s; axis=-1, begin=<0>, end=<HIDDEN>)
    %b: FLOAT[batch, HIDDEN] = slice(%s; axis=-1, begin=<HIDDEN>, end=<BOTH>)
    %f: FLOAT[batch, HIDDEN] = sigmoid(%a)
    %row: FLOAT[batch, HIDDEN] = gather(%E, %place)
    %m: FLOAT[batch, HIDDEN] = mask(%b, %place; axis=1)
    %part: FLOAT[batch, 3] = slice(%h; axis=-1, begin=<1>, end=<4>)
    %padded: FLOAT[batch, HIDDEN] = pad(%part; axis=-1, begin=<2>, size=<HIDDEN>)
    %c: FLOAT[batch, HIDDEN] = mul(%f, %row)
    %d: FLOAT[batch, HIDDEN] = add(%c, %m)
    %e: FLOAT[batch, HIDDEN] = add(%d, %padded)
    %h1: FLOAT[batch, HIDDEN] = tanh(%e)
    output "h" = %h1
  }
  output "end" = %end
})";
    for (const auto& [name, size] : {std::pair("HIDDEN", hidden), std::pair("BOTH", both)}) {
      for (std::size_t at = 0; (at = text.find(name)) != std::string::npos;) text.replace(at, std::strlen(name), size);
    }
    return text;
  };
  for (const auto& [hidden, both] : {std::pair("6", "12"), std::pair("40", "80")}) {
    const Program program = compile(ir::parse(graph(hidden, both), "network"), {});
    const SymbolValues symbols = symbols_of(5, 7);
    std::mt19937 random(3);
    Feeds feeds;
    for (const FeedSpec& f : program.feeds) {
      feeds[f.name] = random_tensor(evaluate(f.shape, symbols), Precision::kFloat32, random);
      if (f.dtype != DType::kInt32) continue;
      Tensor indices(f.dtype, evaluate(f.shape, symbols));
      for (std::int64_t i = 0; i < indices.count(); ++i) indices.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 5);
      feeds[f.name] = indices;
    }
    const auto end = [&](const Device& device) {
      return Executable(program, std::make_shared<Variables>(), device).run(feeds)[0];
    };
    const Tensor expected = end(cpu_device()), found = end(tests::tested_device());
    for (std::int64_t i = 0; i < found.count(); ++i) ASSERT_NEAR(found.at(i), expected.at(i), 1e-5) << hidden << " " << i;
    ASSERT_EQ(loops_of(program, symbols).size(), 1u);
    feeds["places"].data<std::int32_t>()[2 * 7 + 3] = 5;
    try {
      end(tests::tested_device());
      ADD_FAILURE() << "nothing thrown";
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("gather: index 5"));
    }
  }
}

TEST_P(RoundedLoop, ComputesItAtSizesOfAGpu) {
  if (tests::is_emulated())
    GTEST_SKIP() << "the sizes of real networks take the emulated device hours: its threads are fibers of the host; "
                    "tests/cuda/prove runs this";
  expect_rounding({{30, 64, 620, 1000}, {35, 20, 650, 650}, {10, 256, 64, 1024}});
}

// The numbers drawn at a step are those that the CPU draws, in any enclosing loop.
TEST(LoopDraws, AreThoseOfTheCpu) {
  const ByColumns by_columns;
  constexpr const char* kGraph = R"(
graph "network" {
  input %x: FLOAT[time, batch, 12]
  parameter %U: FLOAT[12, 12] = uniform(0.5)
  %h0: FLOAT[batch, 12] = zeros(; shape=[batch, 12])
  %end: FLOAT[batch, 12], %all: FLOAT[time, batch, 12] = scan(%h0, %x, %U; states=1, each=1, steps=<time>, reverse=true) body "b" {
    input %h: FLOAT[batch, 12]
    input %x: FLOAT[batch, 12]
    input %U: FLOAT[12, 12]
    input %step: INT32[]
    %g = sigmoid(%h)
    %d = dropout(%g; rate=0.5, key="h#0")
    %u = matmul(%d, %U)
    %v = add(%u, %x)
    %t = tanh(%v)
    output "h" = %t
    output "all" = %d
  }
  output "end" = %end
  output "all" = %all
}
)";
  // Fused, and each op by itself.
  for (const std::vector<std::string>& disabled : std::vector<std::vector<std::string>>{{}, {"fuse"}}) {
    std::vector<std::vector<Tensor>> found;
    for (const Device* device : {&cpu_device(), &tests::tested_device()}) {
      CompileOptions options;
      options.fetches = {"end", "all"};
      options.disabled_passes = disabled;
      auto variables = std::make_shared<Variables>();
      Executable executable(compile(ir::parse(kGraph, "network"), options), variables, *device);
      initialize(executable.program(), *variables, 1);
      std::mt19937 random(3);
      RunOptions run;
      run.seed = 5, run.step = 9;
      found.push_back(executable.run({{"x", random_tensor({4, 5, 12}, Precision::kFloat32, random)}}, run));
    }
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::int64_t i = 0; i < found[0][k].count(); ++i)
        ASSERT_NEAR(found[1][k].at(i), found[0][k].at(i), 1e-5) << k << " " << i;
    }
  }
  if (!tests::is_emulated()) return;
  std::size_t loops = 0;
  for (const std::string& text : tests::generated_texts()) loops += text.find("fold_coordinate(own.draw0") != std::string::npos;
  EXPECT_GE(loops, 2u);
}

// Both directions of a layer, each on half of the device, which runs the last one first. They run in turn if half of the device
// has no room for the weights, two matrices of 90 KB.
TEST(LoopsBeside, ComputeWhatTheCpuComputes) {
  tests::tested_device();
  const Program program = compile(ir::parse(two_directions("%h0"), "two directions"), {});
  const SymbolValues symbols = symbols_of(3, 5);
  Feeds feeds = random_feeds(program, symbols, Precision::kFloat32, 5);
  scale(feeds, 0.1f);
  const auto run = [&](const Device& device) {
    Executable executable(program, std::make_shared<Variables>(), device);
    std::vector<Tensor> results;
    for (int i = 0; i < 5; ++i) results = executable.run(feeds);
    EXPECT_EQ(executable.runs_played() > 0, !device.is_cpu()) << "concurrent loops are recorded too";
    return results;
  };
  const std::vector<Tensor> expected = run(cpu_device()), results = run(tests::tested_device());
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    for (std::int64_t i = 0; i < results[k].count(); ++i)
      ASSERT_NEAR(results[k].at(i), expected[k].at(i), 1e-4 * (1 + std::abs(expected[k].at(i)))) << k << " " << i;
  }
  if (!tests::is_emulated()) return;
  const DeviceLimits before = tests::emulated_limits();
  const auto beside = [&](std::size_t shared) {
    tests::emulated_limits().multiprocessors = 8;
    tests::emulated_limits().shared = shared;
    PackedWeightsStore store(program);
    const auto binding = graphrun::bind(program, symbols, tests::tested_device(), store);
    tests::emulated_limits() = before;
    for (const BoundInstruction& bound : binding->root.instructions) {
      if (bound.scan) return bound.concurrent;
    }
    return std::size_t{99};
  };
  EXPECT_EQ(beside(64 << 10), 1u);
  EXPECT_EQ(beside(40 << 10), 0u);
  EXPECT_EQ(beside(20 << 10), 1u) << "where not even the whole device has room";
}

INSTANTIATE_TEST_SUITE_P(Cells, Loop, ::testing::Values("atr", "gru", "lstm", "ran", "elman", "lrn", "sru", "adaptive_gru"),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(Cells, RoundedLoop,
                         ::testing::Combine(::testing::Values("atr", "gru", "lstm", "elman", "adaptive_gru"),
                                            ::testing::Values(ProductPrecision::kTf32, ProductPrecision::kBFloat16)),
                         [](const auto& info) {
                           return std::get<0>(info.param) +
                                  (std::get<1>(info.param) == ProductPrecision::kTf32 ? "_tf32" : "_bfloat16");
                         });

}  // namespace
}  // namespace graphrun
