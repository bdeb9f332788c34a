// Whole layers whose products are rounded to bfloat16 on the CPU, forward and backward: loops that threads share, and products
// packed for all steps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/compile.h"
#include "runtime/base/processor.h"
#include "runtime/execute/executable.h"
#include "runtime/threads/threads.h"
#include "tests/compiler/network_fixture.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

class RoundedLayer : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!multiplies_bfloat16()) GTEST_SKIP() << "this processor does not multiply bfloat16";
  }
};

constexpr std::int64_t kLayerSteps = 6, kLayerRows = 5, kHidden = 70;

// The layer's scalar, its gradients and its outputs.
std::vector<Tensor> run_layer(const std::string& cell, Target target) {
  GraphRequest request;
  request.path = tests::source_folder() + "/tests/bench/layer.pbtxt";
  request.graphs_root = tests::source_folder() + "/graphs";
  request.bindings = {{"cell", "cells/" + cell + ".pbtxt", {}},
                      {"width", std::to_string(cell == "sru" ? kHidden : 50), {}},  // its input has the width of its state
                      {"hidden", std::to_string(kHidden), {}}};
  auto variables = std::make_shared<Variables>();
  Executable executable(compile(tests::with_gradients(load_graph(request)).graph), variables, target);
  initialize(executable.program(), *variables, 1);
  const SymbolValues symbols = {{Symbol::named("time"), kLayerSteps}, {Symbol::named("batch"), kLayerRows}};
  Feeds feeds;
  for (const FeedSpec& feed : executable.program().feeds) {
    Tensor t(DType::kFloat32, evaluate(feed.shape, symbols));
    for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = std::sin(static_cast<float>(i));
    feeds[feed.name] = t;
  }
  executable.run(feeds);
  return executable.run(feeds);  // run twice: a run must not be affected by what the previous one left
}

TEST_P(RoundedLayer, IsAsFarFromTheExactOneAsRoundingTakesIt) {
  const std::vector<Tensor> exact = run_layer(GetParam(), cpu_device());
  const Target target(cpu_device(), WeightForm::kFloat32, ProductPrecision::kBFloat16);
  const std::vector<Tensor> found = run_layer(GetParam(), target);
  ASSERT_EQ(found.size(), exact.size());
  double size = 0, distance = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    double most = 1e-3;
    for (std::int64_t i = 0; i < found[k].count(); ++i) most = std::max(most, std::abs(exact[k].at(i)));
    for (std::int64_t i = 0; i < found[k].count(); ++i) {
      const double off = (found[k].at(i) - exact[k].at(i)) / most;
      ASSERT_NEAR(off, 0, 64 * std::exp2(-8)) << "output " << k << " at " << i;
      size += 1, distance += off * off;
    }
  }
  EXPECT_LT(std::sqrt(distance / size), 4 * std::exp2(-8));
  EXPECT_GT(std::sqrt(distance / size), std::exp2(-16));
}

TEST_P(RoundedLayer, IsTheSameForAnyNumberOfThreads) {
  if (core_count() == 1) GTEST_SKIP() << "there is one core";
  const Target target(cpu_device(), WeightForm::kFloat32, ProductPrecision::kBFloat16);
  const int before = threads();
  std::vector<std::vector<Tensor>> found;
  for (const int n : {1, core_count()}) {
    set_threads(n);
    found.push_back(run_layer(GetParam(), target));
  }
  set_threads(before);
  for (std::size_t k = 0; k < found[0].size(); ++k) {
    EXPECT_EQ(std::memcmp(found[0][k].raw(), found[1][k].raw(), found[0][k].bytes()), 0) << "output " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, RoundedLayer, ::testing::Values("atr", "gru", "lstm", "adaptive_gru", "ran", "sru"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace graphrun
