// A network whose decoder is one step with histories trains over all steps at once: to the same numbers as step by step,
// dropout included.
#include "compiler/passes/parallelize_history.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/ir/op.h"
#include "compiler/passes/pass.h"
#include "runtime/execute/executable.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

ir::Graph transformer() {
  GraphRequest request;
  request.path = "transformer.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  for (const auto& [name, value] : std::map<std::string, std::string>{{"source_vocabulary", "7"},
                                                                      {"target_vocabulary", "9"},
                                                                      {"width", "6"},
                                                                      {"inner", "5"},
                                                                      {"heads", "2"},
                                                                      {"depth", "2"},
                                                                      {"longest", "9"},
                                                                      {"dropout", "0.3"}}) {
    request.bindings.push_back({name, value, {}});
  }
  return load_graph(request);
}

Feeds feeds() {
  Feeds all;
  all["source"] = Tensor::of<std::int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  all["previous"] = Tensor::of<std::int32_t>({4, 2}, {1, 2, 8, 3, 4, 5, 6, 7});
  all["target"] = Tensor::of<std::int32_t>({4, 2}, {8, 3, 4, 5, 6, 7, 2, 1});
  all["source_lengths"] = Tensor::of<std::int32_t>({2}, {3, 1});
  all["target_lengths"] = Tensor::of<std::int32_t>({2}, {2, 4});
  all[kLearningRate] = Tensor::of<double>({}, {0.1});
  return all;
}

// The losses of three updates, and a parameter of the decoder behind them.
std::vector<double> trained(const std::vector<std::string>& disabled) {
  CompileOptions options;
  options.precision = Precision::kFloat64;
  options.fetches = {"loss"};
  options.disabled_passes = disabled;
  TrainOptions train;
  train.minimize = "loss";
  auto variables = std::make_shared<Variables>();
  Executable executable(compile(transformer(), options, &train), variables);
  initialize(executable.program(), *variables, 3);
  const Feeds all = feeds();
  Feeds given;
  for (const FeedSpec& f : executable.program().feeds) given[f.name] = all.at(f.name);
  std::vector<double> numbers;
  for (int step = 0; step < 3; ++step) numbers.push_back(executable.run(given)[0].at(0));
  const Tensor& parameter = variables->at("decode.layers.0.Wk");
  for (std::int64_t i = 0; i < parameter.count(); ++i) numbers.push_back(parameter.at(i));
  return numbers;
}

TEST(ParallelizeHistory, TrainsToTheSameNumbers) {
  const std::vector<double> at_once = trained({}), stepwise = trained({"parallelize_history"});
  ASSERT_EQ(at_once.size(), stepwise.size());
  EXPECT_LT(at_once[2], at_once[0]);
  for (std::size_t k = 0; k < at_once.size(); ++k) EXPECT_NEAR(at_once[k], stepwise[k], 1e-10) << k;
}

// Neither a state nor a product by a parameter is left in a loop.
TEST(ParallelizeHistory, LeavesAttentionAloneInLoops) {
  const ir::Graph graph = run_passes(transformer());
  int loops = 0;
  for (const ir::Node& node : graph.nodes) {
    if (!ir::is_scan(node)) continue;
    ++loops;
    EXPECT_EQ(scan_layout(node).states, 0U);
    for (const ir::Node& inner : node.regions[0].nodes) EXPECT_NE(inner.op->family, "matmul") << node.regions[0].name;
  }
  EXPECT_EQ(loops, 6);  // in each of two layers: the encoder's, the decoder's own, and the one across
}

}  // namespace
}  // namespace graphrun
