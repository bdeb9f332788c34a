// Stacks of repetitions and bundles of states as values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/execute/executable.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;

// What the graph gives for x = 1, 2, …, batch 1, with every parameter 0.5.
std::vector<float> first_output(const std::string& text, const Sizes& sizes) {
  const auto variables = std::make_shared<Variables>();
  Executable executable(compile(load_graph(tests::request_of(text))), variables);
  for (const VariableSpec& spec : executable.program().variables) {
    if (spec.kind != VariableSpec::Kind::kParameter) continue;
    Tensor half(DType::kFloat32, evaluate(spec.shape, {}));
    for (float& x : half.span<float>()) x = 0.5f;
    variables->set(spec.name, half);
  }
  Tensor x(DType::kFloat32, sizes);
  float next = 1;
  for (float& element : x.span<float>()) element = next++;
  Feeds feeds;
  feeds["x"] = x;
  const std::vector<Tensor> found = executable.run(feeds);
  const auto y = found[0].span<float>();
  return {y.begin(), y.end()};
}

const std::string kLayers =
    "name: \"net\"\ninput { name: \"x\" shape: \"[batch, 2]\" }\n"
    "graph { name: \"layer\" input { name: \"x\" shape: \"[batch, width]\" } output: \"x = 2 * x, y = x + index_of\""
    " arg { name: \"index_of\" } }\n"
    "repeat { name: \"layers\" graph: \"layer\" times: \"2\" arg: \"index_of = index\" carry: \"x\" }\n";

// Sizes that are written hold for the repetitions as for anything else: the first is their number.
TEST(Bundles, AStackMayBeWrittenWithItsSizes) {
  const std::vector<float> plain = first_output(kLayers + "output: \"y = layers.y\"\n", {1, 2});
  EXPECT_EQ(plain, (std::vector<float>{1, 2, 3, 5}));
  EXPECT_EQ(first_output(kLayers + "let: \"all[2, batch, 2] = layers.y\"\noutput: \"y = all\"\n", {1, 2}), plain);
  EXPECT_EQ(first_output(kLayers + "let: \"all[n, rows, k] = layers.y\"\noutput: \"y = all[1] * n\"\n", {1, 2}),
            (std::vector<float>{6, 10}));
  const std::vector<Diagnostic> found =
      tests::mistakes_of(kLayers + "let: \"all[3, batch, 2] = layers.y\"\noutput: \"y = all\"\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "E0301 shape-mismatch");
  EXPECT_THAT(found[0].text, HasSubstr("axis 0 is 2, expected 3"));
}

TEST(Bundles, AStackWithSizesIsAValueOfThatName) {
  const ir::Graph graph =
      load_graph(tests::request_of(kLayers + "let: \"all[2, batch, 2] = layers.y\"\noutput: \"y = all + 1\"\n"));
  CompileOptions options;
  options.fetches = {"all"};
  EXPECT_EQ(str(compile(graph, options).fetches[0].shape), "[2, batch, 2]");
}

// A cell in which one part reads what another has computed: the shape of a bundle may depend on its other members.
const std::string kTwoLevel =
    "name: \"net\"\ninput { name: \"x\" shape: \"[time, batch, 2]\" }\n"
    "graph { name: \"inner\" input { name: \"x\" shape: \"[batch, width]\" } parameter { name: \"U\" shape: \"[2, 2]\" }\n"
    "state { name: \"h\" shape: \"[batch, 2]\" next: \"tanh(x + h @ U)\" } output: \"h = next(h)\" }\n";

TEST(Bundles, MayHoldACellUponACell) {
  const std::string cell =
      "graph { name: \"cell\" input { name: \"x\" shape: \"[batch, width]\" }\n"
      "call { name: \"low\" graph: \"inner\" input: \"x\" } call { name: \"high\" graph: \"inner\" input: \"x = low.h + m\" }\n"
      "state { name: \"m\" shape: \"[batch, 2]\" next: \"high.h\" } output: \"h = high.h\" }\n";
  const std::string plain =
      "graph { name: \"step\" input { name: \"x\" shape: \"[batch, width]\" }\n"
      "call { name: \"first\" graph: \"cell\" input: \"x\" } output: \"h = first.h\" }\n";
  const std::string bundled =
      "graph { name: \"step\" input { name: \"x\" shape: \"[batch, width]\" }\n"
      "call { name: \"first\" graph: \"cell\" input: \"x\" begin: \"s\" }\n"
      "state { name: \"s\" of: \"first\" next: \"first.end\" } output: \"h = first.h\" }\n";
  const std::string scan = "scan { name: \"all\" graph: \"step\" each: \"x\" }\noutput: \"y = all.h\"\n";
  const std::vector<float> expected = first_output(kTwoLevel + cell + plain + scan, {3, 1, 2});
  ASSERT_EQ(expected.size(), 6u);
  EXPECT_EQ(first_output(kTwoLevel + cell + bundled + scan, {3, 1, 2}), expected);
}

// Ops make one tensor of the states of all repetitions; each gets its own part back.
TEST(Bundles, OfRepetitionsAreComputedWith) {
  const std::string cell =
      "graph { name: \"cell\" input { name: \"x\" shape: \"[batch, width]\" }\n"
      "repeat { name: \"layers\" graph: \"layer\" times: \"2\" carry: \"x\" } output: \"h = layers.x\" }\n"
      "graph { name: \"layer\" input { name: \"x\" shape: \"[batch, width]\" }\n"
      "call { name: \"run\" graph: \"inner\" input: \"x\" } output: \"x = run.h\" }\n";
  const auto step = [](const std::string& next) {
    return "graph { name: \"step\" input { name: \"x\" shape: \"[batch, width]\" }\n"
           "call { name: \"first\" graph: \"cell\" input: \"x\" begin: \"s\" }\n"
           "state { name: \"s\" of: \"first\" next: \"" +
           next + "\" } output: \"h = first.h\" }\n";
  };
  const std::string scan = "scan { name: \"all\" graph: \"step\" each: \"x\" }\noutput: \"y = all.h\"\n";
  const std::vector<float> expected = first_output(kTwoLevel + cell + step("first.end") + scan, {3, 1, 2});
  EXPECT_EQ(first_output(kTwoLevel + cell + step("0.5 * first.end + 0.5 * first.end") + scan, {3, 1, 2}), expected);
}

}  // namespace
}  // namespace graphrun
