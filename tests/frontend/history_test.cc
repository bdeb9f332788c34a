// Operators along the axis of a history stop at the current step, however the axis is given.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/execute/executable.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

// A scan over x, a number or some columns at each step, whose body has the history h.
std::string graph_with(const std::string& expression, const std::string& columns = "") {
  return std::string("name: \"g\"\ninput { name: \"x\" shape: \"[time") + (columns.empty() ? "" : ", ") + columns +
         "]\" }\nscan { name: \"s\" graph: \"c\" each: \"x\" }\noutput: \"y = s.y\"\n"
         "graph { name: \"c\" input { name: \"x\" shape: \"[" +
         columns + "]\" } let: \"h = history(x)\" output: \"y = " + expression + "\" }\n";
}

// The results for the steps 1, 2 and 4; with four equal columns, those of one.
std::vector<double> results_of_graph(const std::string& graph, const std::string& columns = "") {
  CompileOptions options;
  options.precision = Precision::kFloat64;
  Executable executable(compile(load_graph(tests::request_of(graph)), options), std::make_shared<Variables>());
  const std::int64_t width = columns.empty() ? 1 : 4;
  Tensor x(DType::kFloat64, columns.empty() ? Sizes{3} : Sizes{3, width});
  for (std::int64_t i = 0; i < x.count(); ++i) x.data<double>()[i] = static_cast<double>(1 << i / width);
  const Tensor y = executable.run({{"x", x}})[0];
  std::vector<double> first;
  for (std::int64_t t = 0; t < 3; ++t) first.push_back(y.at(t * y.count() / 3));
  return first;
}

std::vector<double> results_of(const std::string& expression, const std::string& columns = "") {
  return results_of_graph(graph_with(expression, columns), columns);
}

TEST(History, StopsAtThePresentHoweverTheAxisIsGiven) {
  const std::vector<double> means = {1, 1.5, 7. / 3}, before = {1, 1, 1.5};
  for (const std::string axis : {"axis=0", "axis=-1", "axis=[0]", "axis=[-1]"}) {
    EXPECT_EQ(results_of("mean(h, " + axis + ")"), means) << axis;
  }
  EXPECT_EQ(results_of("mean(h)"), means);
  for (const std::string rest : {"lengths=n, axis=0", "n, axis=0", "n, 0"}) {  // a size, 4
    EXPECT_EQ(results_of("mean(h, " + rest + ")", "n"), means) << rest;
  }
  // Lengths by name and by position, beyond the present and before it.
  for (const std::string rest : {"lengths=step() + 2, axis=0", "step() + 2, axis=0", "step() + 2, 0"}) {
    EXPECT_EQ(results_of("mean(h, " + rest + ")"), means) << rest;
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
    EXPECT_NE(mistakes[0].text.find("mean reduces axis 0, that of a history, together with others"), std::string::npos);
  }
}

// With 4 equal columns: x is 1, 2 and 4.
TEST(History, IsReadUpToThePresent) {
  const auto of = [](const std::string& expression) { return results_of(expression, "n"); };
  EXPECT_EQ(of("h[0]"), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(of("h[0:1]"), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(of("gather(h, maximum(step() - 1, 0))"), (std::vector<double>{1, 1, 2}));
  EXPECT_EQ(of("sum(cumsum(h, axis=0), axis=0)"), (std::vector<double>{1, 4, 11}));
  EXPECT_EQ(of("transpose(mask(h, lengths=step() + 1, axis=0)) @ h"), (std::vector<double>{1, 5, 21}));
  const std::string w = "softmax(h * 0, axis=0)";  // the mean of the steps so far
  for (const std::string& weights : {w, "(" + w + " + " + w + ") / 2", "maximum(" + w + ", 0)", "-(0 - " + w + ")"}) {
    const std::vector<double> means = of("transpose(" + weights + ") @ h");
    for (std::size_t t = 0; t < 3; ++t) EXPECT_NEAR(means[t], std::vector<double>({1, 1.5, 7. / 3})[t], 1e-12) << weights;
  }
  const std::string real = "mask(h, lengths=step() + 1, axis=0)";
  EXPECT_EQ(of("sum(transpose(stack(" + real + ", " + real + ", axis=0)) @ h, axis=0)"), (std::vector<double>{2, 10, 42}));
  EXPECT_EQ(of("pick(transpose(h), range(n) * 0)"), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(of("sum(mask(h @ transpose(h) * 0 + 1, lengths=step() + 1, axis=1) @ h, axis=0)"), (std::vector<double>{1, 6, 21}));
  for (const std::string wrong :
       {"sum((h @ transpose(h))[-1], axis=0)", "((h @ transpose(h)) @ h)[0]", "(softmax(h @ transpose(h), axis=0) @ h)[0]",
        "transpose(softmax(h, axis=0) + 1) @ h", "h[-1]", "h[1]", "h[0:2]", "h[1:]", "transpose(h) @ h",
        "transpose(exp(softmax(h, axis=0))) @ h", "transpose(softmax(h, axis=1)) @ h", "normalize(transpose(h))[:, 0]",
        "sum(concat(h, h, axis=0), axis=0)", "topk(transpose(h), k=1)[0]"}) {
    const auto mistakes = tests::mistakes_of(graph_with(wrong, "n"));
    ASSERT_FALSE(mistakes.empty()) << wrong;
    EXPECT_EQ(mistakes[0].code, "E0252 beyond-present") << wrong << ": " << mistakes[0].text;
  }
}

// A scan over a history takes the steps so far, and no more than its own lengths.
TEST(History, IsScannedUpToThePresent) {
  const auto of = [](const std::string& lengths) {
    std::string graph = graph_with("past.end.n");
    graph.insert(graph.rfind("output:"), "scan { name: \"past\" graph: \"count\" each: \"k = h\" " + lengths + " } ");
    return results_of_graph(graph +
                            "graph { name: \"count\" input { name: \"k\" shape: \"[]\" }\n"
                            "state { name: \"n\" shape: \"[]\" next: \"n + k\" } output: \"n = next(n)\" }\n");
  };
  EXPECT_EQ(of(""), (std::vector<double>{1, 3, 7}));
  EXPECT_EQ(of("lengths: \"step()\""), (std::vector<double>{0, 1, 3}));
  EXPECT_EQ(of("lengths: \"step() + 5\""), (std::vector<double>{1, 3, 7}));
  EXPECT_EQ(of("reverse: true"), (std::vector<double>{1, 3, 7}));
}

TEST(History, HidesNoMistakeInAnAxis) {
  for (const std::string wrong :
       {"mean(h, axis=0.5)", "softmax(h, axis=[0])", "mean(h, axis=0, axis=0)", "mean(h, axis=3)", "mean(h, axis=1e300)"}) {
    EXPECT_FALSE(tests::mistakes_of(graph_with(wrong)).empty()) << wrong;
  }
}

}  // namespace
}  // namespace graphrun
