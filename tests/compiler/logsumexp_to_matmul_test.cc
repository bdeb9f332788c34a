// Sums over all paths of a CRF as products of exponentials (compiler/passes/logsumexp_to_matmul.h) against the sums as they are
// written: scores of a trained network's size, transitions that are forbidden, labels that nothing begins with.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/ir/parser.h"
#include "compiler/passes/pass.h"
#include "runtime/execute/executable.h"

namespace graphrun {
namespace {

constexpr const char* kPaths = R"(
graph "paths" {
  input %a0: FLOAT[batch, 5]
  input %e: FLOAT[time, batch, 5]
  input %T: FLOAT[5, 5]
  %end: FLOAT[batch, 5] = scan(%a0, %e, %T; states=1, each=1, steps=<time>) body "b" {
    input %a: FLOAT[batch, 5]
    input %e: FLOAT[batch, 5]
    input %T: FLOAT[5, 5]
    input %step: INT32[]
    %before: FLOAT[batch, 5, 1] = expand(%a; axis=-1)
    %pairs = add(%before, %T)
    %arrive = logsumexp(%pairs; axis=(1))
    %a1 = add(%arrive, %e)
    output "a" = %a1
  }
  %all = logsumexp(%end; axis=(1))
  %loss = sum(%all)
  output "loss" = %loss
}
)";

// The loss and its gradients by scores and transitions.
std::vector<Tensor> run(bool factored, Precision precision, const Feeds& feeds) {
  std::vector<std::string> disabled;
  if (!factored) disabled.push_back("logsumexp_to_matmul");
  ir::Graph graph = run_early_passes(ir::parse(kPaths, "paths"), disabled);
  const std::vector<ir::ValueId> by = {graph.inputs[1].value, graph.inputs[2].value};
  const std::vector<ir::ValueId> gradients = differentiate(graph, graph.output("loss")->value, by);
  graph.outputs.push_back({"d.e", gradients[0]});
  graph.outputs.push_back({"d.T", gradients[1]});
  CompileOptions options;
  options.precision = precision;
  options.disabled_passes = disabled;
  Executable executable(compile(graph, options), std::make_shared<Variables>());
  return executable.run(feeds);
}

Feeds feeds_of(double size, std::mt19937& random) {
  const auto tensor = [&](const Sizes& sizes) {
    Tensor t(DType::kFloat64, sizes);
    for (double& x : t.span<double>()) x = std::normal_distribution<>(0, size)(random);
    return t;
  };
  return {{"a0", tensor({3, 5})}, {"e", tensor({7, 3, 5})}, {"T", tensor({5, 5})}};
}

void expect_equal(const Feeds& feeds, double tolerance64, double tolerance32) {
  for (Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
    const std::vector<Tensor> expected = run(false, precision, feeds), found = run(true, precision, feeds);
    const double tolerance = precision == Precision::kFloat64 ? tolerance64 : tolerance32;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      for (std::int64_t i = 0; i < expected[k].count(); ++i) {
        ASSERT_NEAR(found[k].at(i), expected[k].at(i), tolerance * (1 + std::abs(expected[k].at(i)))) << k << " at " << i;
      }
    }
  }
}

TEST(LogsumexpToMatmul, GivesTheSumsAndGradientsOfScoresOfAnyUsualSize) {
  std::mt19937 random(1);
  for (double size : {0.1, 1.0, 5.0, 12.0}) expect_equal(feeds_of(size, random), 1e-12, 2e-5);
}

TEST(LogsumexpToMatmul, ForbidsWhatIsForbidden) {
  std::mt19937 random(2);
  Feeds feeds = feeds_of(2, random);
  for (int from : {0, 3}) feeds.at("T").data<double>()[from * 5 + 1] = -10000;
  expect_equal(feeds, 1e-12, 2e-5);
}

// Every path begins with the label 2; nothing arrives at 4.
TEST(LogsumexpToMatmul, TakesScoresOfMinusInfinity) {
  std::mt19937 random(3);
  Feeds feeds = feeds_of(2, random);
  const double never = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < 15; ++i) {
    if (i % 5 != 2) feeds.at("a0").data<double>()[i] = never;
  }
  for (int from = 0; from < 5; ++from) feeds.at("T").data<double>()[from * 5 + 4] = -10000;
  for (Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
    const std::vector<Tensor> expected = run(false, precision, feeds), found = run(true, precision, feeds);
    EXPECT_NEAR(found[0].at(0), expected[0].at(0), 1e-5 * std::abs(expected[0].at(0)));
    for (std::size_t k = 1; k < found.size(); ++k) {
      for (std::int64_t i = 0; i < found[k].count(); ++i) {
        ASSERT_TRUE(std::isfinite(found[k].at(i))) << k << " at " << i;
        if (!std::isfinite(expected[k].at(i))) continue;
        ASSERT_NEAR(found[k].at(i), expected[k].at(i), 1e-4) << k << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace graphrun
