// Operators along the axis of a history stop at the current step, however the axis is given.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/execute/executable.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

std::string graph_with(const std::string& expression) {
  return "name: \"g\"\ninput { name: \"x\" shape: \"[time]\" }\nscan { name: \"s\" graph: \"c\" each: \"x\" }\noutput: \"y = "
         "s.y\"\n"
         "graph { name: \"c\" input { name: \"x\" shape: \"[]\" } let: \"h = history(x)\" output: \"y = " +
         expression + "\" }\n";
}

// The results for the steps 1, 2 and 4.
std::vector<double> results_of(const std::string& expression) {
  CompileOptions options;
  options.precision = Precision::kFloat64;
  Executable executable(compile(load_graph(tests::request_of(graph_with(expression))), options), std::make_shared<Variables>());
  Tensor x(DType::kFloat64, {3});
  x.data<double>()[0] = 1, x.data<double>()[1] = 2, x.data<double>()[2] = 4;
  const Tensor y = executable.run({{"x", x}})[0];
  return {y.data<double>(), y.data<double>() + y.count()};
}

TEST(History, StopsAtThePresentHoweverTheAxisIsGiven) {
  const std::vector<double> means = {1, 1.5, 7. / 3}, before = {1, 1, 1.5};
  for (const std::string axis : {"axis=0", "axis=-1", "axis=[0]", "axis=[-1]"}) {
    EXPECT_EQ(results_of("mean(h, " + axis + ")"), means) << axis;
  }
  EXPECT_EQ(results_of("mean(h)"), means);
  // Lengths by name and by position, beyond the present and before it.
  for (const std::string lengths : {"lengths=step() + 2", "step() + 2"}) {
    EXPECT_EQ(results_of("mean(h, " + lengths + ", axis=0)"), means) << lengths;
  }
  for (const std::string lengths : {"lengths=maximum(step(), 1)", "maximum(step(), 1)"}) {
    EXPECT_EQ(results_of("mean(h, " + lengths + ", axis=0)"), before) << lengths;
  }
  const std::vector<double> weighted = results_of("sum(softmax(h * 0) * h, axis=[0])");  // softmax: the last axis by default
  for (std::size_t t = 0; t < means.size(); ++t) EXPECT_NEAR(weighted[t], means[t], 1e-15);
}

TEST(History, IsNotReducedTogetherWithOtherAxes) {
  for (const std::string axes : {"", ", axis=[0, 1]", ", axis=[1, 0]"}) {
    const auto mistakes = tests::mistakes_of(graph_with("mean(stack(h, h, axis=1)" + axes + ")"));
    ASSERT_FALSE(mistakes.empty()) << axes;
    EXPECT_EQ(mistakes[0].code, "E0305 wrong-operands");
    EXPECT_NE(mistakes[0].text.find("runs over a history, whose steps end at the present, and over other axes"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace graphrun
