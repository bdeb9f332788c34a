#include "runtime/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/ir/verifier.h"
#include "compiler/lower.h"
#include "compiler/memory.h"
#include "compiler/schedule.h"
#include "tests/compiler/interpreter.h"
#include "tests/compiler/random_graph.h"

namespace graphrun {
namespace {

using ir::Builder;
using ir::Graph;
using ir::ValueId;
using test::Interpreter;
using test::RandomGraph;
using testing::HasSubstr;

const Symbol kBatch = Symbol::named("batch"), kTime = Symbol::named("time"), kWords = Symbol::named("words");

Program compiled(const Graph& graph, bool reuse = true, Precision precision = Precision::kFloat32) {
  ir::verify(graph, "test");
  const Graph scheduled = schedule(graph);
  ir::verify(scheduled, "schedule");
  return lower(scheduled, plan_memory(scheduled, {reuse}), precision);
}

Tensor random_tensor(DType dtype, const Sizes& sizes, unsigned seed) {
  std::mt19937 random(seed);
  Tensor tensor(DType::kFloat64, sizes);
  for (double& x : tensor.span<double>()) x = static_cast<double>(random() % 1000) / 500 - 1;
  return tensor.converted(dtype);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

// Runs of one graph under the executable and under the interpreter, side by side, on batches of several sizes.
class SideBySide {
 public:
  SideBySide(Graph graph, bool reuse, Precision precision)
      : graph_(std::move(graph)),
        precision_(precision),
        variables_(std::make_shared<Variables>()),
        executable_(compiled(graph_, reuse, precision), variables_) {}

  void run(const SymbolValues& symbols, unsigned seed) {
    Feeds feeds;
    std::vector<Tensor> given(graph_.values.size());
    const DType dtype = concrete(Type::kFloat, precision_);
    for (const ir::Input& input : graph_.inputs) {
      const Tensor tensor = random_tensor(dtype, evaluate(graph_.type(input.value).shape, symbols), seed++);
      feeds[graph_.value(input.value).name] = tensor;
      given[static_cast<std::size_t>(input.value)] = tensor.clone();
    }
    for (const ir::Variable& variable : graph_.variables) {
      const std::string& name = graph_.value(variable.value).name;
      const Sizes sizes = evaluate(graph_.type(variable.value).shape, symbols);
      Tensor& held = held_[name];
      if (held.empty() || held.sizes() != sizes) held = Tensor(dtype, sizes);
      given[static_cast<std::size_t>(variable.value)] = held.clone();
    }
    const std::vector<Tensor> expected = Interpreter(precision_, symbols, seed, 3).values(graph_, std::move(given));
    const std::vector<Tensor> fetched = executable_.run(feeds, {seed, 3});
    ASSERT_EQ(fetched.size(), graph_.outputs.size());
    for (std::size_t o = 0; o < fetched.size(); ++o) {
      EXPECT_TRUE(same_bits(fetched[o], expected[static_cast<std::size_t>(graph_.outputs[o].value)])) << graph_.outputs[o].name;
    }
    for (const ir::Variable& variable : graph_.variables) {
      const std::string& name = graph_.value(variable.value).name;
      if (variable.next != ir::kNone) held_[name] = expected[static_cast<std::size_t>(variable.next)];
      EXPECT_TRUE(same_bits(variables_->at(name), held_[name])) << name;
    }
  }

 private:
  Graph graph_;
  Precision precision_;
  std::shared_ptr<Variables> variables_;
  Executable executable_;
  std::map<std::string, Tensor> held_;
};

class RandomGraphs : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Reuse, RandomGraphs, testing::Bool());

TEST_P(RandomGraphs, GiveWhatTheInterpreterGives) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Graph graph = RandomGraph(seed).make(4 + static_cast<int>(seed % 17));
    SideBySide both(graph, GetParam(), seed % 2 ? Precision::kFloat32 : Precision::kFloat64);
    for (const auto& [batch, time, words] :
         std::vector<std::array<std::int64_t, 3>>{{2, 3, 4}, {1, 4, 1}, {2, 0, 3}, {2, 3, 4}, {3, 1, 2}}) {
      both.run({{kBatch, batch}, {kTime, time}, {kWords, words}}, seed);
      if (HasFailure()) FAIL() << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace graphrun
