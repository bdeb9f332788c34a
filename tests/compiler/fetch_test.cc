// Fetching: any value of a graph by its path.
#include "compiler/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/compile.h"
#include "compiler/passes/pass.h"
#include "runtime/execute/executable.h"
#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

// A cell whose equations have several ops each.
constexpr const char* kCell = R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "cell"
input { name: "x" shape: "[batch, 2]" }
parameter { name: ["W", "U"] shape: "[2, 2]" }
let: "a = tanh(x @ W + 1) * 2"
let: "b = sigmoid(a + h @ U)"
let: "most, place = topk(tanh(b) + 1, k=1)"
state { name: "h" shape: "[batch, 2]" next: "b * a + (1 - b) * h" }
output: "h = next(h) * 3, top = most + place * 0"
)end";
constexpr const char* kNetwork = R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "network"
input { name: "x" shape: "[time, batch, 2]" }
parameter { name: "V" shape: "[2, 5]" }
scan { name: "read" graph: "cell.pbtxt" each: "x" }
let: "y = softmax(read.h @ V + 1)"
output: "sum = sum(y * y), largest = read.top"
)end";

// -0.75, -0.5, …
Tensor rising(const Sizes& sizes) {
  Tensor t(DType::kFloat64, sizes);
  double x = -1;
  for (double& element : t.span<double>()) element = x += 0.25;
  return t;
}

class Fetches : public ::testing::Test {
 protected:
  Fetches() {
    folder_.file("cell.pbtxt", kCell);
    GraphRequest request;
    request.path = folder_.file("network.pbtxt", kNetwork);
    graph_ = load_graph(request);
  }

  // What comes out for a fetch, with the passes that are not in `disabled`.
  Tensor run(const std::string& fetch, const std::vector<std::string>& disabled = {}) {
    CompileOptions options;
    options.precision = Precision::kFloat64;
    options.disabled_passes = disabled;
    options.fetches = {fetch};
    auto variables = std::make_shared<Variables>();
    Executable executable(compile(graph_, options), variables);
    for (const std::string name : {"read.W", "read.U", "V"}) {
      Tensor t(DType::kFloat64, name == "V" ? Sizes{2, 5} : Sizes{2, 2});
      double x = name == "read.U" ? 0.5 : -0.25;
      for (double& element : t.span<double>()) element = x += 0.3;
      variables->set(name, std::move(t));
    }
    Feeds feeds;
    for (const FeedSpec& feed : executable.program().feeds) {
      feeds[feed.name] = rising({4, 1, 2});
    }
    return executable.run(feeds)[0].clone();
  }

  const Scratch folder_;
  ir::Graph graph_;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Whichever of its values an equation made first: a name is what the whole equation gives.
TEST_F(Fetches, GiveWhatTheEquationOfThatNameGives) {
  const Tensor x = run("x"), xw = run("read.a"), b = run("read.b"), h = run("read.h"), y = run("y"), most = run("read.most");
  ASSERT_EQ(xw.sizes(), (Sizes{4, 1, 2}));
  const double w[2][2] = {{0.05, 0.35}, {0.65, 0.95}}, u[2][2] = {{0.8, 1.1}, {1.4, 1.7}};
  double state[2] = {0, 0};
  for (std::int64_t t = 0; t < 4; ++t) {
    double next[2];
    for (std::int64_t k = 0; k < 2; ++k) {
      double product = 0, of_state = 0;
      for (std::int64_t i = 0; i < 2; ++i) {
        product += x.at(2 * t + i) * w[i][k];
        of_state += state[i] * u[i][k];
      }
      const double a = std::tanh(product + 1) * 2, gate = sigmoid(a + of_state);
      EXPECT_NEAR(xw.at(2 * t + k), a, 1e-12);
      EXPECT_NEAR(b.at(2 * t + k), gate, 1e-12);
      next[k] = gate * a + (1 - gate) * state[k];
      EXPECT_NEAR(h.at(2 * t + k), next[k] * 3, 1e-12) << "the output of that name, not the state";
    }
    EXPECT_NEAR(most.at(t), std::tanh(std::max(b.at(2 * t), b.at(2 * t + 1))) + 1, 1e-12) << "the first of two results";
    std::copy_n(next, 2, state);
  }
  for (std::int64_t t = 0; t < 4; ++t) {
    double all = 0;
    for (std::int64_t k = 0; k < 5; ++k) all += y.at(5 * t + k);
    EXPECT_NEAR(all, 1, 1e-12);
  }
}

// What left its loop, before it (a) or behind it (y), and what stays there.
TEST_F(Fetches, GiveTheSameWithAndWithoutPasses) {
  const std::vector<std::string> all = names_to_disable();
  for (const std::string name : {"read.a", "read.b", "read.h", "y", "sum"}) {
    const Tensor with = run(name), without = run(name, all);
    ASSERT_EQ(with.sizes(), without.sizes()) << name;
    for (std::int64_t i = 0; i < with.count(); ++i) EXPECT_NEAR(with.at(i), without.at(i), 1e-12) << name;
  }
}

// In training, passes go over the graph before and after gradients; what a name means stays.
TEST_F(Fetches, GiveTheSameInTraining) {
  folder_.file("delayed.pbtxt", R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "delayed"
input { name: "x" shape: "[batch, 2]" }
parameter { name: "W" shape: "[2, 2]" }
state { name: "p_" shape: "[batch, 2]" next: "p" }
let: "p = x @ W"
output: "h = tanh(p + p_)"
)end");
  GraphRequest request;
  request.path = folder_.file("trained.pbtxt", R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "trained"
input { name: "x" shape: "[time, batch, 2]" }
scan { name: "read" graph: "delayed.pbtxt" each: "x" }
output: "loss = sum(read.h)"
)end");
  const ir::Graph graph = load_graph(request);
  for (const char* name : {"read.p_", "read.p_.before", "read.p"}) {
    std::vector<std::vector<double>> found;
    for (const bool shifted : {true, false}) {
      CompileOptions options;
      options.precision = Precision::kFloat64;
      options.fetches = {name};
      if (!shifted) options.disabled_passes = {"delay_to_shift"};
      TrainOptions train;
      train.minimize = "loss";
      auto variables = std::make_shared<Variables>();
      Executable executable(compile(graph, options, &train), variables);
      initialize(executable.program(), *variables, 1);
      Feeds feeds;
      for (const FeedSpec& feed : executable.program().feeds) {
        feeds[feed.name] = feed.shape.empty() ? Tensor::of<double>({}, {0.1}) : rising({4, 1, 2});
      }
      const Tensor t = executable.run(feeds)[0].clone();
      EXPECT_EQ(t.sizes(), (Sizes{4, 1, 2})) << name;
      found.emplace_back(t.span<double>().begin(), t.span<double>().end());
    }
    EXPECT_EQ(found[0], found[1]) << name;
  }
}

// Several names in one equation take their values' names only where it made them.
TEST_F(Fetches, LeaveNamesToWhatHasThem) {
  const std::string head = R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "pairs"
input { name: "x" shape: "[batch, 2]" }
let: "c = x * 2"
let: "d = x * 3"
let: "dd = d"
let: "a, b = [c, d]"
let: "e, f = [tanh(x) * 2, sigmoid(x) + 1]"
)end";
  for (const std::string output : {"output: \"y = dd + a + b + e + f\"\n", "output: \"y = f + e + b + a + dd\"\n"}) {
    GraphRequest request;
    request.path = folder_.file("pairs.pbtxt", head + output);
    graph_ = load_graph(request);
    const auto fetch = [&](const std::string& name) {
      CompileOptions options;
      options.fetches = {name};
      Executable executable(compile(graph_, options), std::make_shared<Variables>());
      return executable.run({{"x", Tensor::of<float>({1, 2}, {1, -2})}})[0].at(1);
    };
    const double tanh2 = 2 * std::tanh(-2.0);
    const std::map<std::string, double> expected = {
        {"c", -4}, {"d", -6}, {"dd", -6}, {"a", -4}, {"b", -6}, {"e", tanh2}, {"f", 1 + sigmoid(-2)}};
    for (const auto& [name, value] : expected) EXPECT_NEAR(fetch(name), value, 1e-6) << name << " with " << output;
  }
}

// Names that make no value: an equation that is another's, outputs of a called graph and of one called by that, a member of a
// bundle, an input.
TEST_F(Fetches, ReachWhatHasAnotherName) {
  folder_.file("inner.pbtxt", R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "inner"
input { name: "x" shape: "[batch, 2]" }
parameter { name: "W" shape: "[2, 2]" }
state { name: "c" shape: "[batch, 2]" next: "c + x" }
state { name: "h" shape: "[batch, 2]" next: "tanh(z)" }
let: "p = x @ W + h"
let: "same = p"
let: "z = same * 2"
output: "z = z, old = h"
)end");
  folder_.file("outer.pbtxt", R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "outer"
input { name: "x" shape: "[time, batch, 2]" }
scan { name: "read" graph: "inner.pbtxt" each: "x" }
output: "again = read.z, ends = read.end"
)end");
  GraphRequest request;
  request.path = folder_.file("named.pbtxt", R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "named"
input { name: "x" shape: "[time, batch, 2]" }
call { name: "call" graph: "outer.pbtxt" input: "x" }
let: "given = x"
let: "last = call.again"
output: "y = sum(last) + sum(call.ends.h) + sum(call.ends.c) + sum(given)"
)end");
  const ir::Graph graph = load_graph(request);
  const auto fetch = [&](const std::string& name) {
    CompileOptions options;
    options.precision = Precision::kFloat64;
    options.fetches = {name};
    auto variables = std::make_shared<Variables>();
    const Program program = compile(graph, options);
    EXPECT_EQ(program.fetches.at(0).name, name);
    Executable executable(program, variables);
    initialize(executable.program(), *variables, 1);
    const Tensor t = executable.run({{"x", rising({3, 1, 2})}})[0].clone();
    std::vector<double> found(t.span<double>().begin(), t.span<double>().end());
    for (std::int64_t n : t.sizes()) found.push_back(static_cast<double>(n));
    return found;
  };
  const std::map<std::string, std::string> names = {{"given", "x"},
                                                    {"last", "call.read.z"},
                                                    {"call.again", "call.read.z"},
                                                    {"call.read.same", "call.read.p"},
                                                    {"call.read.old", "call.read.h.before"},
                                                    {"call.ends.h", "call.read.end.h"}};
  for (const auto& [other, own] : names) EXPECT_EQ(fetch(other), fetch(own)) << other;
  try {
    fetch("call.agai");
    FAIL() << "no value has that name";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("did you mean 'call.again'"));
  }
}

}  // namespace
}  // namespace graphrun
