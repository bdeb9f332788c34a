// Delayed sequences in networks: values and gradients are those of the states that delayed them.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/compile.h"
#include "compiler/passes/pass.h"
#include "runtime/execute/executable.h"
#include "tests/compiler/network_fixture.h"
#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

// States that delay an input, and a product of it, by one and two steps.
constexpr const char* kDelayedCell = R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "cell"
input { name: "x" shape: "[batch, 3]" }
parameter { name: ["W", "V", "T", "U"] shape: "[3, 3]" }
let: "p = x @ W"
let: "z = p + before @ V + earlier @ T + p_ + h @ U"
state { name: "before" shape: "[batch, 3]" next: "x" }
state { name: "earlier" shape: "[batch, 3]" next: "before" }
state { name: "p_" shape: "[batch, 3]" next: "p" }
state { name: "h" shape: "[batch, 3]" next: "sigmoid(z) * tanh(z)" }
output: "h = next(h), p_"
)end";

class DelayToShift : public ::testing::Test {
 protected:
  // All values and gradients of a network around the cell.
  std::vector<Tensor> run(const std::string& scan, const std::vector<std::string>& disabled) {
    const Scratch folder;
    folder.file("cell.pbtxt", kDelayedCell);
    GraphRequest request;
    request.path = folder.file("network.pbtxt", R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "network"
input { name: "x" shape: "[time, batch, 3]" }
input { name: "lengths" shape: "[batch]" type: INT32 lengths_of: "time" }
parameter { name: "B" shape: "[3, 3]" }
)end" + scan + "\noutput: \"h = read.h, p = read.p_, before = read.end.before, earlier = read.end.earlier\"\n");
    ir::Graph graph = tests::with_gradients(run_early_passes(load_graph(request), disabled)).graph;
    CompileOptions options;
    options.precision = Precision::kFloat64;
    options.disabled_passes = disabled;
    auto variables = std::make_shared<Variables>();
    Executable executable(compile(graph, options), variables);
    initialize(executable.program(), *variables, 3);
    Feeds feeds;
    for (const FeedSpec& feed : executable.program().feeds) {
      if (feed.dtype == DType::kInt32) {
        feeds[feed.name] = Tensor::of<std::int32_t>({4}, {0, 3, 5, 1});
        continue;
      }
      Tensor t(DType::kFloat64, {5, 4, 3});
      double x = 0;
      for (double& element : t.span<double>()) element = std::sin(x += 1.7);
      feeds[feed.name] = std::move(t);
    }
    std::vector<Tensor> out;
    for (const Tensor& t : executable.run(feeds)) out.push_back(t.clone());
    return out;
  }
};

TEST_F(DelayToShift, GivesValuesAndGradientsOfTheStates) {
  const std::vector<std::string> all = names_to_disable();
  const std::string begin = "begin: \"before = x[0] @ B, p_ = x[1]\" ";
  for (const std::string more : {"", "reverse: true ", "lengths: \"lengths\" ", "lengths: \"lengths\" reverse: true "}) {
    const std::string scan = "scan { name: \"read\" graph: \"cell.pbtxt\" each: \"x\" " + begin + more + "}";
    const std::vector<Tensor> expected = run(scan, all);
    ASSERT_GE(expected.size(), 10u);
    for (const std::vector<std::string>& disabled : {std::vector<std::string>{}, {"hoist"}, {"delay_to_shift"}}) {
      const std::vector<Tensor> found = run(scan, disabled);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t k = 0; k < found.size(); ++k) {
        ASSERT_EQ(found[k].sizes(), expected[k].sizes());
        for (std::int64_t i = 0; i < found[k].count(); ++i) {
          EXPECT_NEAR(found[k].at(i), expected[k].at(i), 1e-12) << more << ", result " << k << " at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace graphrun
