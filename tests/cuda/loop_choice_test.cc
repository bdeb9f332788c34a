// Which of a device's loops run by rows of the batch although they could run by columns: those whose blocks would wait for each
// other longer than a row takes, as in the backward pass of a CRF. The results are compared with the CPU's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"
#include "compiler/passes/pass.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/scan/launch.h"
#include "tests/compiler/network_fixture.h"
#include "tests/cuda/device.h"
#include "tests/folders.h"
#include "tools/bench/timing.h"

namespace graphrun {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// As an H200's, if the device is emulated.
class ChosenLoops : public ::testing::Test {
 protected:
  void SetUp() override {
    if (tests::tested_device(); !tests::is_emulated()) return;
    before_ = tests::emulated_limits();
    tests::emulated_limits() = {132, 256, 227 << 10, true, {66, 32, 16, 7}};
  }
  void TearDown() override {
    if (tests::is_emulated()) tests::emulated_limits() = before_;
  }

 private:
  DeviceLimits before_;
};

SymbolValues sizes_of(std::int64_t time, std::int64_t batch) {
  return {{Symbol::named("time"), time}, {Symbol::named("batch"), batch}};
}

// Every loop of the program's root, in order.
std::vector<ScanPlan::Launch> launches_of(const Program& program, const SymbolValues& sizes,
                                          Target target = tests::tested_device()) {
  PackedWeightsStore store(program);
  const auto binding = graphrun::bind(program, sizes, target, store);
  std::vector<ScanPlan::Launch> all;
  for (const BoundInstruction& bound : binding->root.instructions) {
    if (bound.scan) all.push_back(std::get<ScanPlan::Launch>(bound.scan->plan.way));
  }
  return all;
}

std::vector<std::string> told(const std::vector<ScanPlan::Launch>& launches) {
  std::vector<std::string> all;
  for (const auto& launch : launches) all.push_back(launch->describe());
  return all;
}

// ---- the CRF

// The likelihood and its gradients by the emissions and the transitions.
Program likelihood(int labels, Precision precision = Precision::kFloat32) {
  GraphRequest request;
  request.path = "crf.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  request.bindings = {{"labels", std::to_string(labels), {}}};
  ir::Graph graph = run_early_passes(load_graph(request));
  ir::Builder b(graph);
  const ir::ValueId nll = graph.output("nll")->value, loss = b.op("sum", {nll});
  const std::vector<ir::ValueId> gradients = differentiate(graph, loss, {graph.inputs[0].value, graph.variables[0].value});
  graph.outputs = {{"nll", nll}, {"d.emissions", gradients[0]}, {"d.T", gradients[1]}};
  CompileOptions options;
  options.precision = precision;
  return compile(graph, options);
}

// Rows of different lengths, one of them as long as the batch, and of length 0 if there are several.
Feeds crf_feeds(const Program& program, std::int64_t time, std::int64_t batch, int labels) {
  std::mt19937 random(5);
  Feeds feeds;
  for (const FeedSpec& f : program.feeds) {
    Tensor t(f.dtype, evaluate(f.shape, sizes_of(time, batch)));
    for (std::int64_t i = 0; i < t.count(); ++i) {
      const std::uint32_t drawn = random();
      if (f.lengths_of) {
        t.data<std::int32_t>()[i] = static_cast<std::int32_t>(i == 0 ? time : i == 1 ? 0 : 1 + drawn % time);
      } else if (f.dtype == DType::kInt32) {
        t.data<std::int32_t>()[i] = static_cast<std::int32_t>(drawn % static_cast<unsigned>(labels));
      } else if (f.dtype == DType::kFloat64) {
        t.data<double>()[i] = drawn / 1073741824. - 2;
      } else {
        t.data<float>()[i] = static_cast<float>(drawn / 1073741824. - 2);
      }
    }
    feeds[f.name] = t;
  }
  return feeds;
}

std::vector<Tensor> run_crf(const Program& program, const Device& device, std::int64_t time, std::int64_t batch, int labels) {
  auto variables = std::make_shared<Variables>();
  Executable executable(program, variables, device);
  initialize(executable.program(), *variables, 1);
  const Feeds feeds = crf_feeds(executable.program(), time, batch, labels);
  executable.run(feeds);
  return executable.run(feeds);  // memory that a run leaves behind has no effect
}

TEST_F(ChosenLoops, TakesTheRowsOfACrfForwardAndBackward) {
  for (const int labels : {2, 9, 45}) {
    const Program program = likelihood(labels);
    for (const std::int64_t batch : {1, 2, 32, 300}) {
      const std::vector<std::string> loops = told(launches_of(program, sizes_of(25, batch)));
      EXPECT_EQ(loops.size(), 2u);
      EXPECT_THAT(loops, Each(HasSubstr("each block has its own rows of the batch"))) << labels << ", batch " << batch;
    }
  }
}

TEST_F(ChosenLoops, ComputesWhatTheCpuDoes) {
  for (const auto& [labels, precision] :
       {std::pair(9, Precision::kFloat32), std::pair(45, Precision::kFloat32), std::pair(9, Precision::kFloat64)}) {
    const Program program = likelihood(labels, precision);
    const double tolerance = precision == Precision::kFloat64 ? 1e-11 : 2e-5;
    for (const auto& [time, batch] : {std::pair(6, 1), std::pair(5, 7), std::pair(3, 40), std::pair(1, 3)}) {
      const std::vector<Tensor> expected = run_crf(program, cpu_device(), time, batch, labels);
      const std::vector<Tensor> found = run_crf(program, tests::tested_device(), time, batch, labels);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        ASSERT_EQ(found[k].sizes(), expected[k].sizes());
        double most = 1;
        for (std::int64_t i = 0; i < expected[k].count(); ++i) most = std::max(most, std::abs(expected[k].at(i)));
        for (std::int64_t i = 0; i < expected[k].count(); ++i) {
          ASSERT_NEAR(found[k].at(i), expected[k].at(i), most * tolerance)
              << "result " << k << " at " << i << ", " << labels << " labels, batch " << batch;
        }
      }
    }
  }
}

// The transitions' gradient is a sum over all rows, whichever blocks have them.
TEST_F(ChosenLoops, ComputesTheSameBitsInAnyNumberOfBlocks) {
  if (!tests::is_emulated()) GTEST_SKIP() << "a GPU has one number of multiprocessors";
  const Program program = likelihood(9);
  std::vector<Tensor> first;
  for (const int multiprocessors : {132, 16, 3, 1}) {
    tests::emulated_limits().multiprocessors = multiprocessors;
    const std::int64_t blocks = std::min(multiprocessors, 19);
    EXPECT_THAT(told(launches_of(program, sizes_of(5, 19))),
                Each(HasSubstr("launch of " + std::to_string(blocks) + " blocks")));
    const std::vector<Tensor> found = run_crf(program, tests::tested_device(), 5, 19, 9);
    if (first.empty()) first = found;
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(std::memcmp(found[k].raw(), first[k].raw(), sizeof(float) * static_cast<std::size_t>(found[k].count())), 0)
          << "result " << k << ", " << multiprocessors << " multiprocessors";
    }
  }
}

// ---- layers

constexpr const char* kOwnRows = "own rows of the batch";

Program layer(const std::string& cell, std::int64_t hidden) {
  GraphRequest request;
  request.path = tests::source_folder() + "/tests/bench/layer.pbtxt";
  request.graphs_root = tests::source_folder() + "/graphs";
  request.bindings = {{"cell", "cells/" + cell + ".pbtxt", {}}, {"width", "8", {}}, {"hidden", std::to_string(hidden), {}}};
  return compile(tests::with_gradients(load_graph(request)).graph, {});
}

// The sums of narrow layers' products, in both kinds of loops.
TEST_F(ChosenLoops, ComputeLayersByRows) {
  for (const char* const cell : {"elman", "atr", "gru", "lstm", "adaptive_gru"}) {
    const Program program = layer(cell, 13);
    EXPECT_THAT(told(launches_of(program, sizes_of(4, 7))), Each(HasSubstr(kOwnRows))) << cell;
    const auto run = [&](const Device& device) {
      auto variables = std::make_shared<Variables>();
      Executable executable(program, variables, device);
      initialize(executable.program(), *variables, 1);
      Feeds feeds;
      for (const FeedSpec& f : program.feeds) feeds[f.name] = random_tensor(evaluate(f.shape, sizes_of(4, 7)), 1);
      return executable.run(feeds);
    };
    const std::vector<Tensor> expected = run(cpu_device()), found = run(tests::tested_device());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      for (std::int64_t i = 0; i < expected[k].count(); ++i)
        ASSERT_NEAR(found[k].at(i), expected[k].at(i), 2e-5 * (1 + std::abs(expected[k].at(i))))
            << cell << " " << k << " " << i;
    }
  }
}

TEST_F(ChosenLoops, TakesColumnsWhereARowHasMuchWork) {
  EXPECT_THAT(told(launches_of(layer("gru", 16), sizes_of(3, 8))), Each(HasSubstr(kOwnRows)));
  EXPECT_THAT(told(launches_of(layer("gru", 320), sizes_of(3, 8))), Each(Not(HasSubstr(kOwnRows))));
  // Many rows for each block.
  EXPECT_THAT(told(launches_of(layer("gru", 16), sizes_of(3, 20000))), Each(Not(HasSubstr(kOwnRows))));
}

// On matrix units.
TEST_F(ChosenLoops, TakesColumnsWhereProductsAreRounded) {
  if (!tests::tested_device().backend().limits().matrix_units) GTEST_SKIP() << "the device has no matrix units";
  for (const ProductPrecision products : {ProductPrecision::kTf32, ProductPrecision::kBFloat16}) {
    const Target target(tests::tested_device(), WeightForm::kFloat32, products);
    EXPECT_THAT(told(launches_of(layer("gru", 16), sizes_of(3, 8), target)), Each(HasSubstr("on matrix units")));
  }
  // A CRF's own products are never rounded.
  const Target target(tests::tested_device(), WeightForm::kFloat32, ProductPrecision::kBFloat16);
  EXPECT_THAT(told(launches_of(likelihood(9), sizes_of(25, 32), target)), Each(HasSubstr(kOwnRows)));
}

TEST_F(ChosenLoops, TakesColumnsWhereRowLoopsAreDisabled) {
  if (!tests::is_emulated()) GTEST_SKIP() << "GRAPHRUN_CUDA_ROW_LOOPS=0 disables them on a GPU";
  tests::emulated_limits().row_loops = false;
  EXPECT_THAT(told(launches_of(layer("gru", 16), sizes_of(3, 8))), Each(Not(HasSubstr(kOwnRows))));
  // The forward pass has a maximum over the labels, and could not run by columns.
  const std::vector<std::string> crf = told(launches_of(likelihood(9), sizes_of(25, 32)));
  EXPECT_THAT(crf[0], HasSubstr(kOwnRows));
  EXPECT_THAT(crf[1], Not(HasSubstr(kOwnRows)));
}

}  // namespace
}  // namespace graphrun
