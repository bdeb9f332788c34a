// The states of a graph that is itself run: they live from run to run, whether they are read before the step, after it, or
// both.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/execute/executable.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

// Runs of one graph with W = 0.5, U = -0.25 and x = 1, then 2; what `y` is in each.
std::vector<float> outputs(const std::string& state, const std::string& output) {
  const std::string text =
      "name: \"srn\"\ninput { name: \"x\" shape: \"[batch, 1]\" }\n"
      "parameter { name: [\"W\", \"U\"] shape: \"[1, 1]\" }\n" +
      state + "\noutput: \"y = " + output + "\"\n";
  const ir::Graph graph = load_graph(tests::request_of(text));
  auto variables = std::make_shared<Variables>();
  variables->set("W", Tensor::of<float>({1, 1}, {0.5f}));
  variables->set("U", Tensor::of<float>({1, 1}, {-0.25f}));
  Executable executable(compile(graph), variables);
  std::vector<float> out;
  for (const float x : {1.0f, 2.0f}) {
    Feeds feeds;
    feeds["x"] = Tensor::of<float>({1, 1}, {x});
    out.push_back(executable.run(feeds)[0].data<float>()[0]);
  }
  return out;
}

const std::string kElman = "state { name: \"h\" shape: \"[batch, 1]\" next: \"tanh(x @ W + h @ U)\" }";
const std::string kForgets = "state { name: \"h\" shape: \"[batch, 1]\" next: \"tanh(x @ W)\" }";
const float kFirst = std::tanh(0.5f), kSecond = std::tanh(1 - 0.25f * kFirst);

TEST(RootState, IsReadBeforeItsStep) {
  const std::vector<float> y = outputs(kElman, "h");
  EXPECT_FLOAT_EQ(y[0], 0);
  EXPECT_FLOAT_EQ(y[1], kFirst);
}

TEST(RootState, IsReadAfterItsStep) {
  const std::vector<float> y = outputs(kElman, "next(h)");
  EXPECT_FLOAT_EQ(y[0], kFirst);
  EXPECT_FLOAT_EQ(y[1], kSecond);
}

TEST(RootState, IsReadBeforeAndAfterItsStep) {
  const std::vector<float> y = outputs(kElman, "h - next(h)");
  EXPECT_FLOAT_EQ(y[0], -kFirst);
  EXPECT_FLOAT_EQ(y[1], kFirst - kSecond);
}

TEST(RootState, IsReadByAnOpBeforeAStepThatDoesNotReadIt) {
  const std::vector<float> y = outputs(kForgets, "sum(h)");
  EXPECT_FLOAT_EQ(y[0], 0);
  EXPECT_FLOAT_EQ(y[1], kFirst);
}

// Thousands of nodes are made between the first look at the state and its step.
TEST(RootState, OutlivesWhatIsMadeForItsStep) {
  std::string next = "x @ W";
  for (int i = 0; i < 900; ++i) next += " + x";
  const std::vector<float> y = outputs("state { name: \"h\" shape: \"[batch, 1]\" next: \"" + next + "\" }", "h");
  EXPECT_FLOAT_EQ(y[1], 900.5f);
}

}  // namespace
}  // namespace graphrun
