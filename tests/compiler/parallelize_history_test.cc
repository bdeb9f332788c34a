// A network whose decoder is one step with histories trains over all steps at once: to the same numbers as step by step,
// dropout included.
#include "compiler/passes/parallelize_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/op.h"
#include "compiler/ir/parser.h"
#include "compiler/passes/pass.h"
#include "compiler/rewrite/history_plan.h"
#include "runtime/execute/executable.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

using Settings = std::map<std::string, std::string>;
const Settings kAttends = {}, kRecurs = {{"recurrent", "true"}};  // how the decoder reads its past

ir::Graph transformer(const Settings& settings) {
  GraphRequest request;
  request.path = "transformer.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  Settings all = {
      {"source_vocabulary", "7"}, {"target_vocabulary", "9"}, {"width", "6"}, {"inner", "5"}, {"heads", "2"}, {"depth", "2"},
      {"longest", "9"},           {"dropout", "0.3"}};
  all.insert(settings.begin(), settings.end());
  for (const auto& [name, value] : all) request.bindings.push_back({name, value, {}});
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
std::vector<double> trained(const Settings& settings, const std::string& of, const std::vector<std::string>& disabled) {
  CompileOptions options;
  options.precision = Precision::kFloat64;
  options.fetches = {"loss"};
  options.disabled_passes = disabled;
  TrainOptions train;
  train.minimize = "loss";
  auto variables = std::make_shared<Variables>();
  Executable executable(compile(transformer(settings), options, &train), variables);
  initialize(executable.program(), *variables, 3);
  const Feeds all = feeds();
  Feeds given;
  for (const FeedSpec& f : executable.program().feeds) given[f.name] = all.at(f.name);
  std::vector<double> numbers;
  for (int step = 0; step < 3; ++step) numbers.push_back(executable.run(given)[0].at(0));
  const Tensor& parameter = variables->at(of);
  for (std::int64_t i = 0; i < parameter.count(); ++i) numbers.push_back(parameter.at(i));
  return numbers;
}

void expect_same_training(const Settings& settings, const std::string& of) {
  const std::vector<double> at_once = trained(settings, of, {}), stepwise = trained(settings, of, {"parallelize_history"});
  ASSERT_EQ(at_once.size(), stepwise.size());
  EXPECT_LT(at_once[2], at_once[0]);
  for (std::size_t k = 0; k < at_once.size(); ++k) EXPECT_NEAR(at_once[k], stepwise[k], 1e-10) << k;
}

TEST(ParallelizeHistory, TrainsToTheSameNumbers) { expect_same_training(kAttends, "decode.layers.0.Wk"); }
TEST(ParallelizeHistory, TrainsRecurrencesToTheSameNumbers) { expect_same_training(kRecurs, "decode.layers.0.read.Wf"); }

// What the loops of a graph have in them: how many there are of each number of states, and whether what is left recurs or
// attends, and does no more.
std::map<std::size_t, int> loops_by_states(const ir::Graph& graph) {
  std::map<std::size_t, int> loops;
  for (const ir::Node& node : graph.nodes) {
    if (!ir::is_scan(node)) continue;
    const std::size_t states = scan_layout(node).states;
    ++loops[states];
    for (const ir::Node& inner : node.regions[0].nodes) {
      EXPECT_NE(inner.op->family, "matmul") << node.regions[0].name;
      if (states > 0) {
        EXPECT_NE(inner.op->access, ir::Access::kReduction) << inner.op->name;
      }
    }
  }
  return loops;
}

// Neither a state nor a product by a parameter is left in a loop.
// How many loops the one scan of the text becomes.
int loops_of(const std::string& text) {
  const ir::Graph graph = ir::parse(text, "memory");
  for (const ir::Node& node : graph.nodes) {
    if (!ir::is_scan(node)) continue;
    const DivisionPlan plan = plan_division(node, {false});
    return plan.possible ? plan.loops : 1;
  }
  return 0;
}

// A state and a product of it. A matrix of which only a vector is read would have to be saved for all steps.
TEST(ParallelizeHistory, KeepsProductsThatShrinkAMatrixInItsLoop) {
  EXPECT_EQ(loops_of(R"(graph "memory" {
  input %x: FLOAT[time, batch, 4]
  input %h0: FLOAT[batch, 4]
  input %W: FLOAT[4, 4]
  %end: FLOAT[batch, 4], %y: FLOAT[time, batch, 4] = scan(%h0, %x, %W; states=1, each=1, steps=<time>, reverse=false) body "b" {
    input %h: FLOAT[batch, 4]
    input %x: FLOAT[batch, 4]
    input %W: FLOAT[4, 4]
    input %step: INT32[]
    %h1: FLOAT[batch, 4] = add(%h, %x)
    %y: FLOAT[batch, 4] = matmul(%h1, %W)
    output "h" = %h1
    output "y" = %y
  }
  output "y" = %y
})"),
            2);
  EXPECT_EQ(loops_of(R"(graph "memory" {
  input %x: FLOAT[time, batch, 1, 4]
  input %S0: FLOAT[batch, 4, 4]
  %end: FLOAT[batch, 4, 4], %y: FLOAT[time, batch, 1, 4] = scan(%S0, %x; states=1, each=1, steps=<time>, reverse=false) body "b" {
    input %S: FLOAT[batch, 4, 4]
    input %x: FLOAT[batch, 1, 4]
    input %step: INT32[]
    %S1: FLOAT[batch, 4, 4] = add(%S, %x)
    %y: FLOAT[batch, 1, 4] = matmul(%x, %S1)
    output "S" = %S1
    output "y" = %y
  }
  output "y" = %y
})"),
            1);
}

TEST(ParallelizeHistory, LeavesAttentionAloneInLoops) {
  // In each of two layers: the encoder's, the decoder's own, and the one across.
  EXPECT_EQ(loops_by_states(run_passes(transformer(kAttends))), (std::map<std::size_t, int>{{0, 6}}));
}

// Each layer of a student's decoder recurs in a loop of its own, element by element.
TEST(ParallelizeHistory, LeavesRecurrencesAloneInLoops) {
  EXPECT_EQ(loops_by_states(run_passes(transformer(kRecurs))), (std::map<std::size_t, int>{{0, 4}, {1, 2}}));
}

// A cell with a product in its recurrence keeps the decoder in one loop.
TEST(ParallelizeHistory, LeavesProductsOfRecurrencesWhereTheyAre) {
  const Settings settings = {{"recurrent", "true"}, {"cell", "cells/atr.pbtxt"}};
  const PassResult result = parallelize_history(transformer(settings));
  EXPECT_FALSE(result.changed);
  expect_same_training(settings, "decode.layers.0.read.U");
}

// Divided loops compute what the whole loop computes, values and gradients.

// A scan over %x and %f with the given states (their names and begins), in a network with a loss. `body` makes the states'
// next values and %y.
std::string network(const std::vector<std::pair<std::string, std::string>>& states, const std::string& body,
                    const std::vector<std::string>& next, bool reverse = false) {
  std::string begins, inputs, ends, outputs;
  for (std::size_t s = 0; s < states.size(); ++s) {
    const std::string& name = states[s].first;
    begins += states[s].second + ", ";
    ends += "%" + name + "_end: FLOAT[batch, 4], ";
    inputs += "    input %" + name + ": FLOAT[batch, 4]\n";
    outputs += "    output \"" + name + "\" = " + next[s] + "\n";
  }
  const std::string count = std::to_string(states.size());
  return R"(graph "net" {
  input %x: FLOAT[time, batch, 4]
  input %f: FLOAT[time, batch, 4]
  input %h0: FLOAT[batch, 4]
  parameter %V: FLOAT[4, 4] = uniform(0.5)
  parameter %W: FLOAT[4, 4] = uniform(0.5)
  %zero = zeros(; shape=[batch, 4], type="FLOAT")
  )" + ends +
         "%y: FLOAT[time, batch, 4] = scan(" + begins + "%x, %f, %V, %W; states=" + count +
         ", each=2, steps=<time>, reverse=" + (reverse ? "true" : "false") + ") body \"b\" {\n" + inputs +
         R"(    input %x: FLOAT[batch, 4]
    input %f: FLOAT[batch, 4]
    input %V: FLOAT[4, 4]
    input %W: FLOAT[4, 4]
    input %step: INT32[]
    %u = matmul(%x, %V)
)" + body +
         outputs +
         R"(    output "y" = %y
  }
  %t = tanh(%y)
  %t2 = mul(%t, %t)
  %s = sum(%t2)
  %e = sum(%)" +
         states[0].first + R"(_end)
  %loss = add(%s, %e)
  output "loss" = %loss
  output "y" = %y
})";
}

void expect_divided_alike(const std::string& text, int loops = 2) {
  EXPECT_EQ(loops_of(text), loops);
  std::vector<std::vector<double>> found;
  for (const std::vector<std::string>& disabled : {std::vector<std::string>{}, {"parallelize_history"}}) {
    CompileOptions options;
    options.precision = Precision::kFloat64;
    options.fetches = {"loss", "y"};
    options.disabled_passes = disabled;
    TrainOptions train;
    train.minimize = "loss";
    auto variables = std::make_shared<Variables>();
    Executable executable(compile(ir::parse(text, "net"), options, &train), variables);
    initialize(executable.program(), *variables, 3);
    Feeds all;
    std::uint32_t seed = 1;
    for (const auto& [name, sizes] : std::map<std::string, Sizes>{{"x", {5, 3, 4}}, {"f", {5, 3, 4}}, {"h0", {3, 4}}}) {
      Tensor t(DType::kFloat64, sizes);
      for (double& number : t.span<double>()) {
        seed = seed * 1664525u + 1013904223u;
        number = static_cast<double>(seed >> 20) / 4096;
      }
      all[name] = std::move(t);
    }
    all[kLearningRate] = Tensor::of<double>({}, {0.1});
    Feeds given;
    for (const FeedSpec& f : executable.program().feeds) given[f.name] = all.at(f.name);
    std::vector<double>& numbers = found.emplace_back();
    RunOptions run;
    for (run.step = 0; run.step < 3; ++run.step) {
      for (const Tensor& t : executable.run(given, run)) {
        for (std::int64_t i = 0; i < t.count(); ++i) numbers.push_back(t.at(i));
      }
    }
    for (const char* name : {"V", "W"}) {
      if (!variables->has(name)) continue;
      for (std::int64_t i = 0; i < variables->at(name).count(); ++i) numbers.push_back(variables->at(name).at(i));
    }
  }
  ASSERT_EQ(found[0].size(), found[1].size());
  for (std::size_t k = 0; k < found[0].size(); ++k) EXPECT_NEAR(found[0][k], found[1][k], 1e-10) << k;
}

constexpr const char* kGated = R"(    %fc = mul(%f, %c)
    %c1 = add(%fc, %u)
    %y = matmul(%c1, %W)
)";

TEST(DividedLoops, BeginWhereTheWholeLoopDid) {
  expect_divided_alike(network({{"c", "%zero"}}, kGated, {"%c1"}));
  expect_divided_alike(network({{"c", "%h0"}}, kGated, {"%c1"}));
}

TEST(DividedLoops, MayRunInReverse) { expect_divided_alike(network({{"c", "%h0"}}, kGated, {"%c1"}, true)); }

TEST(DividedLoops, KeepStatesThatNeedEachOtherTogether) {
  expect_divided_alike(network({{"c", "%h0"}, {"d", "%zero"}}, R"(    %fd = mul(%f, %d)
    %c1 = add(%fd, %u)
    %fc = mul(%f, %c)
    %cd = tanh(%c1)
    %d1 = add(%fc, %cd)
    %y = matmul(%d1, %W)
)",
                               {"%c1", "%d1"}));
}

// Two recurrences, of which one reads a product of the other.
TEST(DividedLoops, FollowEachOther) {
  expect_divided_alike(network({{"c", "%h0"}, {"d", "%h0"}}, R"(    %fc = mul(%f, %c)
    %c1 = add(%fc, %u)
    %v = matmul(%c1, %W)
    %fd = mul(%f, %d)
    %d1 = add(%fd, %v)
    %y = matmul(%d1, %V)
)",
                               {"%c1", "%d1"}),
                       3);
}

TEST(DividedLoops, MayDelayASequenceToo) {
  for (const bool reverse : {false, true}) {
    expect_divided_alike(network({{"c", "%h0"}, {"d", "%h0"}}, R"(    %fc = mul(%f, %c)
    %cd = add(%fc, %d)
    %c1 = add(%cd, %u)
    %y = matmul(%c1, %W)
)",
                                 {"%c1", "%u"}, reverse));
  }
}

TEST(DividedLoops, DrawTheSameNumbers) {
  for (const bool reverse : {false, true}) {
    expect_divided_alike(network({{"c", "%h0"}}, R"(    %fc = mul(%f, %c)
    %dc = dropout(%fc; rate=0.4, key="c")
    %c1 = add(%dc, %u)
    %dy = dropout(%c1; rate=0.4, key="y")
    %y = matmul(%dy, %W)
)",
                                 {"%c1"}, reverse));
  }
}

// A loop in the body belongs to one of the new loops, and so does what it draws.
TEST(DividedLoops, MayContainALoop) {
  expect_divided_alike(network({{"c", "%h0"}}, R"(    %fc = mul(%f, %c)
    %c1 = add(%fc, %u)
    %v = matmul(%c1, %W)
    %i: FLOAT[batch, 4] = scan(%v, %V; states=1, each=0, steps=<3>, reverse=false) body "i" {
      input %i: FLOAT[batch, 4]
      input %V: FLOAT[4, 4]
      input %step: INT32[]
      %p = matmul(%i, %V)
      %q = dropout(%p; rate=0.4, key="i")
      output "i" = %q
    }
    %y = add(%i, %v)
)",
                               {"%c1"}));
}

// Random numbers that depend on the step alone are drawn once, in one loop.
TEST(DividedLoops, DrawInOneLoop) {
  const std::string text =
      network({{"c", "%h0"}}, R"(    %m: FLOAT[4, 4] = scan(%V; states=1, each=0, steps=<2>, reverse=false) body "i" {
      input %i: FLOAT[4, 4]
      input %step: INT32[]
      %q = dropout(%i; rate=0.4, key="i")
      output "i" = %q
    }
    %um = matmul(%u, %m)
    %fc = mul(%f, %c)
    %c1 = add(%fc, %um)
    %y = matmul(%c1, %m)
)",
              {"%c1"});
  expect_divided_alike(text);
  const ir::Graph graph = ir::parse(text, "net");
  for (const ir::Node& node : graph.nodes) {
    if (!ir::is_scan(node)) continue;
    const DivisionPlan plan = plan_division(node, {false});
    const ir::Node& inner = *std::find_if(plan.body.nodes.begin(), plan.body.nodes.end(), ir::is_scan);
    EXPECT_FALSE(plan.local[static_cast<std::size_t>(inner.outputs[0])]);
  }
}

}  // namespace
}  // namespace graphrun
