#include "runtime/execute/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "compiler/ir/verifier.h"
#include "compiler/lower.h"
#include "compiler/memory.h"
#include "compiler/schedule.h"
#include "runtime/execute/profiler.h"
#include "tests/compiler/interpreter.h"
#include "tests/compiler/random_graph.h"
#include "tests/same_bits.h"

namespace graphrun {
namespace {

using ir::Builder;
using ir::Graph;
using ir::ValueId;
using test::Interpreter;
using test::RandomGraph;
using testing::HasSubstr;
using tests::same_bits;

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

// Runs one graph with the executable and with the interpreter, on batches of several sizes.
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
    // Variables have their values after their last writes, while the run still goes.
    const std::vector<VariableSpec>& specs = executable_.program().variables;
    const std::vector<std::size_t> last = last_writes(executable_.program());
    std::map<std::string, Tensor> written;
    RunOptions options{seed, 3};
    options.progress = [&](std::size_t done) {
      for (std::size_t v = 0; v < specs.size(); ++v) {
        if (last[v] > 0 && last[v] <= done && written.count(specs[v].name) == 0) {
          written[specs[v].name] = variables_->at(specs[v].name).clone();
        }
      }
    };
    const std::vector<Tensor> fetched = executable_.run(feeds, options);
    ASSERT_EQ(fetched.size(), graph_.outputs.size());
    for (const auto& [name, tensor] : written) EXPECT_TRUE(same_bits(tensor, variables_->at(name))) << name;
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
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Graph graph = RandomGraph(seed).make(4 + static_cast<int>(seed % 17));
    SideBySide both(graph, GetParam(), seed % 2 ? Precision::kFloat32 : Precision::kFloat64);
    for (const auto& [batch, time, words] :
         std::vector<std::array<std::int64_t, 3>>{{2, 3, 4}, {1, 4, 1}, {2, 0, 3}, {2, 3, 4}, {3, 1, 2}}) {
      both.run({{kBatch, batch}, {kTime, time}, {kWords, words}}, seed);
      if (HasFailure()) FAIL() << "seed " << seed;
    }
  }
}

// ---- Scans against graphs unrolled by hand. ----

class Scans : public testing::Test {
 protected:
  Scans() { test::register_small_ops(); }

  std::vector<Tensor> run(const Graph& graph, const Feeds& feeds) {
    return Executable(compiled(graph), std::make_shared<Variables>()).run(feeds);
  }

  // h' = average(mix(h), x), y = twist(h'), three steps over a [3, batch, 2] sequence that is fed step by step.
  static Graph unrolled(const std::vector<int>& order) {
    Graph graph;
    Builder b(graph);
    std::vector<ValueId> x;
    for (int t = 0; t < 3; ++t) x.push_back(b.input("x" + std::to_string(t), row_type()));
    ValueId h = b.input("h", row_type());
    std::vector<ValueId> y(3);
    for (int t : order) {
      h = b.op("t_average", {b.op("t_mix", {h}), x[static_cast<std::size_t>(t)]});
      y[static_cast<std::size_t>(t)] = b.op("t_twist", {h});
    }
    graph.outputs = {{"end", h}, {"y0", y[0]}, {"y1", y[1]}, {"y2", y[2]}};
    return graph;
  }

  static Graph scanned(bool reverse) {
    Graph body;
    Builder inner(body);
    const ValueId h = inner.input("h", row_type()), x = inner.input("x", row_type());
    inner.input("step", {Type::kInt32, {}});
    const ValueId next = inner.op("t_average", {inner.op("t_mix", {h}), x});
    body.outputs = {{"h", next}, {"y", inner.op("t_twist", {next})}};
    Graph graph;
    Builder b(graph);
    const ValueId sequence = b.input("x", {Type::kFloat, {Dim(kTime), Dim(kBatch), Dim(2)}});
    const ValueId begin = b.input("h", row_type());
    const std::vector<ValueId> made = b.scan({begin, sequence}, std::move(body), 1, 1, kTime, reverse);
    graph.outputs = {{"end", made[0]}, {"y", made[1]}};
    return graph;
  }

  static ir::TensorType row_type() { return {Type::kFloat, {Dim(kBatch), Dim(2)}}; }
};

TEST_F(Scans, EqualTheirUnrolledGraphs) {
  const Tensor x = random_tensor(DType::kFloat32, {3, 4, 2}, 1), h = random_tensor(DType::kFloat32, {4, 2}, 2);
  Feeds rows{{"h", h}};
  for (std::int64_t t = 0; t < 3; ++t) {
    Tensor row(DType::kFloat32, {4, 2});
    std::memcpy(row.raw(), x.data<float>() + t * 8, row.bytes());
    rows["x" + std::to_string(t)] = row;
  }
  for (bool reverse : {false, true}) {
    const auto expected = run(unrolled(reverse ? std::vector<int>{2, 1, 0} : std::vector<int>{0, 1, 2}), rows);
    const auto found = run(scanned(reverse), {{"x", x}, {"h", h}});
    EXPECT_TRUE(same_bits(found[0], expected[0])) << reverse;
    for (std::size_t t = 0; t < 3; ++t) {
      EXPECT_EQ(std::memcmp(found[1].data<float>() + t * 8, expected[t + 1].raw(), expected[t + 1].bytes()), 0) << reverse << t;
    }
  }
}

TEST_F(Scans, OfNoStepsEndAsTheyBegan) {
  const Tensor h = random_tensor(DType::kFloat32, {4, 2}, 2);
  const auto found = run(scanned(false), {{"x", Tensor(DType::kFloat32, {0, 4, 2})}, {"h", h}});
  EXPECT_TRUE(same_bits(found[0], h));
  EXPECT_EQ(found[1].sizes(), (Sizes{0, 4, 2}));
}

// INT32 and BOOL states that work like a shift register: the next value of each state is the previous value of another.
TEST_F(Scans, CarryStatesOfEveryType) {
  Graph body;
  Builder inner(body);
  const ValueId a = inner.input("a", {Type::kInt32, {}}), c = inner.input("b", {Type::kInt32, {}});
  const ValueId p = inner.input("p", {Type::kBool, {Dim(kBatch)}}), q = inner.input("q", {Type::kBool, {Dim(kBatch)}});
  const ValueId flag = inner.input("flag", {Type::kBool, {Dim(kBatch)}});
  const ValueId step = inner.input("step", {Type::kInt32, {}});
  body.outputs = {{"a", step}, {"b", a}, {"p", flag}, {"q", p}, {"was", c}, {"had", q}};
  Graph graph;
  Builder b(graph);
  const ValueId five = b.input("five", {Type::kInt32, {}}), flags = b.input("flags", {Type::kBool, {Dim(kTime), Dim(kBatch)}});
  const ValueId begin = b.input("begin", {Type::kBool, {Dim(kBatch)}});
  const auto made = b.scan({five, five, begin, begin, flags}, std::move(body), 4, 1, kTime, false);
  for (ValueId v : made) graph.outputs.push_back({"out" + std::to_string(graph.outputs.size()), v});
  const auto found = run(graph, {{"five", Tensor::of<std::int32_t>({}, {5})},
                                 {"flags", Tensor::of<std::uint8_t>({4, 1}, {1, 0, 1, 0})},
                                 {"begin", Tensor::of<std::uint8_t>({1}, {1})}});
  EXPECT_EQ(found[0].at(0), 3);
  EXPECT_EQ(found[1].at(0), 2);
  EXPECT_EQ(found[2].at(0), 0);
  EXPECT_EQ(found[3].at(0), 1);
  const auto elements = [](const Tensor& t) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < t.count(); ++i) all.push_back(t.at(i));
    return all;
  };
  EXPECT_THAT(elements(found[4]), testing::ElementsAre(5, 5, 0, 1));
  EXPECT_THAT(elements(found[5]), testing::ElementsAre(1, 1, 1, 0));
}

// A cache to which each step writes one row: n rows in all, not n copies of n rows.
TEST_F(Scans, GrowACacheInPlace) {
  Graph body;
  Builder inner(body);
  const ir::TensorType cache{Type::kFloat, {Dim(kTime), Dim(kBatch), Dim(2)}};
  const ValueId c = inner.input("cache", cache), x = inner.input("x", row_type());
  const ValueId step = inner.input("step", {Type::kInt32, {}});
  body.outputs = {{"cache", inner.op("t_put", {c, inner.op("t_twist", {x}), step})}};
  Graph graph;
  Builder b(graph);
  const ValueId sequence = b.input("x", cache);
  graph.outputs = {
      {"end", b.scan({b.op("t_count", {}, {{"shape", cache.shape}}), sequence}, std::move(body), 1, 1, kTime, false)[0]}};
  const Program program = compiled(graph);
  EXPECT_EQ(program.regions[0].instructions.back().kind, Instruction::Kind::kScan);
  const Tensor x_fed = random_tensor(DType::kFloat32, {5, 1, 2}, 1);
  const auto found = Executable(program, std::make_shared<Variables>()).run({{"x", x_fed}});
  for (std::int64_t i = 0; i < 10; ++i)
    EXPECT_FLOAT_EQ(static_cast<float>(found[0].at(i)), static_cast<float>(x_fed.at(i)) / 2 + 1);
}

// ---- Sizes, variables, mistakes. ----

class Runs : public testing::Test {
 protected:
  Runs() { test::register_small_ops(); }

  ValueId output(ValueId v) {
    graph_.outputs.push_back({"out" + std::to_string(graph_.outputs.size()), v});
    return v;
  }
  ValueId input(const std::string& name, const Shape& shape, Type type = Type::kFloat) { return b_.input(name, {type, shape}); }
  Executable executable() { return {compiled(graph_), variables_}; }

  // The message of a failing run.
  std::string mistake(const Feeds& feeds, ExitCode code = ExitCode::kBadData) {
    try {
      executable().run(feeds);
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), code);
      return error.what();
    }
    ADD_FAILURE() << "no mistake was found";
    return "";
  }

  Graph graph_;
  Builder b_{graph_};
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
};

Tensor floats(const Sizes& sizes, float value = 1) {
  Tensor t(DType::kFloat32, sizes);
  std::fill(t.span<float>().begin(), t.span<float>().end(), value);
  return t;
}

TEST_F(Runs, RememberTheShapesOfBatches) {
  output(b_.op("t_twist", {input("x", {Dim(kBatch), Dim(3)})}));
  Executable e = executable();
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t batch : {4, 2, 8}) EXPECT_EQ(e.run({{"x", floats({batch, 3})}})[0].sizes(), (Sizes{batch, 3}));
  }
  EXPECT_EQ(e.bindings_made(), 3u);
  // With very many shapes, the oldest ones are evicted.
  for (std::int64_t batch = 0; batch < 100; ++batch) e.run({{"x", floats({batch, 3})}});
  const std::size_t made = e.bindings_made();
  e.run({{"x", floats({99, 3})}});
  EXPECT_EQ(e.bindings_made(), made);
  e.run({{"x", floats({0, 3})}});
  EXPECT_EQ(e.bindings_made(), made + 1);
}

TEST_F(Runs, TellHowMuchMemoryTheyTake) {
  const ValueId a = b_.op("t_mix", {input("x", {Dim(kBatch), Dim(16)})});
  output(b_.op("t_mix", {a}));
  b_.variable("w", {Type::kFloat, {Dim(4)}}, {});
  variables_->set("w", floats({4}));
  Executable e = executable();
  EXPECT_EQ(e.arena_bytes(), 0u);
  e.run({{"x", floats({10, 16})}});
  EXPECT_EQ(e.arena_bytes(), 640u);
  e.run({{"x", floats({1, 16})}});
  EXPECT_EQ(e.arena_bytes(), 64u);
  EXPECT_EQ(e.variable_bytes(), 16u);
}

TEST_F(Runs, UpdateVariablesInPlace) {
  const ValueId w = b_.variable("w", {Type::kFloat, {Dim(4)}}, {});
  graph_.variables[0].next = b_.op("t_update", {w, input("g", {Dim(4)})});
  const Tensor held = floats({4}, 8);
  variables_->set("w", held);
  executable().run({{"g", floats({4}, 16)}});
  EXPECT_EQ(variables_->at("w").raw(), held.raw());
  EXPECT_EQ(held.at(0), 8 * 0.875 - 2);
}

TEST_F(Runs, BeginAStreamsStateAsZeros) {
  ir::Variable state;
  state.kind = ir::Variable::Kind::kState;
  const ValueId h = b_.variable("h", {Type::kFloat, {Dim(kBatch)}}, state);
  graph_.variables[0].next = b_.op("t_average", {h, input("x", {Dim(kBatch)})});
  Executable e = executable();
  e.run({{"x", floats({2}, 4)}});
  EXPECT_EQ(variables_->at("h").at(0), 2);
  e.run({{"x", floats({2}, 4)}});
  EXPECT_EQ(variables_->at("h").at(0), 3);
  e.run({{"x", floats({3}, 4)}});  // another batch: starts over
  EXPECT_EQ(variables_->at("h").sizes(), Sizes{3});
  EXPECT_EQ(variables_->at("h").at(2), 2);
}

TEST_F(Runs, TellAProfilerWhereTheTimeGoes) {
  Graph body;
  Builder inner(body);
  const ValueId x = inner.input("x", {Type::kFloat, {Dim(2)}});
  inner.input("step", {Type::kInt32, {}});
  inner.set_name("inside");
  body.outputs = {{"y", inner.op("t_twist", {x})}};
  b_.set_name("loop");
  output(b_.scan({input("x", {Dim(kTime), Dim(2)})}, std::move(body), 0, 1, kTime, false)[0]);
  Profiler profiler;
  RunOptions options;
  options.profiler = &profiler;
  executable().run({{"x", floats({3, 2})}}, options);
  std::map<std::string, std::int64_t> runs;
  for (const Profiler::Total& total : profiler.totals()) runs[total.name + " " + total.op] = total.runs;
  EXPECT_EQ(runs.at("inside t_twist"), 3);
  EXPECT_EQ(runs.at("loop.y scan"), 1);
}

TEST_F(Runs, GiveTensorsThatTheNextRunLeavesAlone) {
  output(b_.op("t_twist", {input("x", {Dim(2)})}));
  Executable e = executable();
  const Tensor first = e.run({{"x", floats({2}, 2)}})[0];
  e.run({{"x", floats({2}, 8)}});
  EXPECT_EQ(first.at(0), 2);
}

// A cache that the caller gives up gets its row in its own memory; one that somebody else holds is copied.
TEST_F(Runs, ReplaceRowsOfAFeedThatIsGivenUp) {
  for (const bool is_read_after : {false, true}) {
    Graph graph;
    Builder b(graph);
    const ir::TensorType type{Type::kFloat, {Dim(kTime), Dim(kBatch)}};
    const ValueId cache = b.input("cache", type), row = b.input("row", {Type::kFloat, {Dim(kBatch)}});
    const ValueId i = b.input("i", {Type::kInt32, {}});
    const ValueId sum = b.op("sum", {cache});  // before
    const ValueId put = b.op("put", {cache, row, i});
    graph.outputs = {{"put", put}, {"sum", sum}};
    if (is_read_after) graph.outputs.push_back({"was", cache});
    Executable executable(compiled(graph), std::make_shared<Variables>());
    const auto feeds = [] {
      return Feeds{{"cache", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                   {"row", Tensor::of<float>({2}, {8, 9})},
                   {"i", Tensor::of<std::int32_t>({}, {1})}};
    };
    const auto expect = [](const std::vector<Tensor>& results) {
      EXPECT_TRUE(same_bits(results[0], Tensor::of<float>({2, 2}, {1, 2, 8, 9})));
      EXPECT_EQ(results[1].at(0), 10);
    };
    Feeds given = feeds();
    const void* const memory = given.at("cache").raw();
    const std::vector<Tensor> results = executable.run(std::move(given));
    expect(results);
    EXPECT_EQ(results[0].raw() == memory, !is_read_after);
    if (is_read_after) {
      EXPECT_TRUE(same_bits(results[2], feeds().at("cache")));
    }
    for (const bool gives_up : {false, true}) {
      Feeds held = feeds();
      const Tensor also = held.at("cache");
      expect(gives_up ? executable.run(std::move(held)) : executable.run(held));
      EXPECT_TRUE(same_bits(also, feeds().at("cache")));
    }
  }
}

// A view of the feed that is read later prevents it, and of two results with the same rows one is a copy.
TEST_F(Runs, ReplaceRowsOfAFeedOnlyIfNothingElseReadsIt) {
  for (const bool reuse : {false, true}) {
    Graph graph;
    Builder b(graph);
    const ir::TensorType type{Type::kFloat, {Dim(2), Dim(2)}};
    const ValueId cache = b.input("cache", type), row = b.input("row", {Type::kFloat, {Dim(2)}});
    const ValueId i = b.input("i", {Type::kInt32, {}});
    const ValueId view = b.op("reshape", {cache}, {{"shape", Shape{Dim(4)}}});
    const ValueId put = b.op("put", {cache, row, i});
    const ValueId sum = b.op("sum", {view});
    graph.outputs = {{"put", put}, {"again", put}, {"sum", sum}};
    for (const bool reads_view : {true, false}) {
      if (!reads_view) graph.outputs.pop_back();
      Executable executable(compiled(graph, reuse), std::make_shared<Variables>());
      const auto results = executable.run(Feeds{{"cache", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                                                {"row", Tensor::of<float>({2}, {8, 9})},
                                                {"i", Tensor::of<std::int32_t>({}, {1})}});
      const Tensor expected = Tensor::of<float>({2, 2}, {1, 2, 8, 9});
      EXPECT_TRUE(same_bits(results[0], expected));
      EXPECT_TRUE(same_bits(results[1], expected));
      EXPECT_NE(results[0].raw(), results[1].raw());
      if (reads_view) {
        EXPECT_EQ(results[2].at(0), 10);
      }
    }
  }
}

TEST_F(Runs, ConvertFloatsThatAreFed) {
  output(b_.op("t_twist", {input("x", {Dim(2)})}));
  EXPECT_EQ(executable().run({{"x", Tensor::of<double>({2}, {2, 4})}})[0].at(1), 3);
  Executable wide(compiled(graph_, true, Precision::kFloat64), variables_);
  EXPECT_EQ(wide.run({{"x", floats({2}, 4)}})[0].at(1), 3);
}

TEST_F(Runs, SolveForASizeThatStandsInASum) {
  output(b_.op("t_count", {}, {{"shape", Shape{Dim(kTime), Dim(kWords)}}}));
  input("x", {Dim(2) * Dim(kTime) + Dim(1)});
  graph_.defined_symbols.emplace(kWords, Dim(kTime) + Dim(3));
  EXPECT_EQ(executable().run({{"x", floats({9})}})[0].sizes(), (Sizes{4, 7}));
  EXPECT_THAT(mistake({{"x", floats({8})}}), HasSubstr("E0623 feed-shape"));
}

TEST_F(Runs, NameBothInputsWhoseSizesDisagree) {
  output(b_.op("t_twist", {input("words", {Dim(kTime), Dim(2)})}));
  input("tags", {Dim(kTime)});
  const std::string text = mistake({{"words", floats({7, 2})}, {"tags", floats({6})}});
  EXPECT_THAT(text, HasSubstr("E0624 size-conflict"));
  EXPECT_THAT(text, HasSubstr("'time' is 7 in input 'words' but 6 in input 'tags'"));
}

TEST_F(Runs, FindAllMistakesOfTheFeedsAtOnce) {
  output(b_.op("t_twist", {input("words", {Dim(kTime), Dim(2)})}));
  input("lengths", {Dim(kBatch)}, Type::kInt32);
  input("rate", {});
  const std::string text = mistake({{"word", floats({1})}, {"lengths", floats({1})}, {"rate", floats({3})}});
  EXPECT_THAT(text, HasSubstr("E0620 missing-feed]: input 'words' is not fed; expected float32[time, 2]"));
  EXPECT_THAT(text, HasSubstr("E0621 unknown-feed]: there is no input 'word'"));
  EXPECT_THAT(text, HasSubstr("did you mean 'words'"));
  EXPECT_THAT(text, HasSubstr("E0622 feed-type]: input 'lengths' is fed float32; expected int32"));
  EXPECT_THAT(text, HasSubstr("E0623 feed-shape]: input 'rate' is fed the sizes [3]; expected a scalar"));
}

TEST_F(Runs, CheckSizesThatAreNumbers) {
  output(b_.op("t_twist", {input("x", {Dim(kBatch), Dim(3)})}));
  EXPECT_THAT(mistake({{"x", floats({2, 4})}}), HasSubstr("input 'x' is fed the sizes [2, 4]; expected [batch, 3]"));
}

TEST_F(Runs, AskForEverySizeToBeTold) {
  input("x", {Dim(2)});
  output(b_.op("t_count", {}, {{"shape", Shape{Dim(kTime)}}}));
  EXPECT_THAT(mistake({{"x", floats({2})}}), HasSubstr("E0625 unknown-size]: no feed determines the size 'time'"));
}

TEST_F(Runs, RefuseNegativeSizes) {
  input("x", {Dim(kTime)});
  b_.set_name("tail");
  output(b_.op("t_count", {}, {{"shape", Shape{Dim(kTime) - Dim(1)}}}));
  EXPECT_EQ(executable().run({{"x", floats({1})}})[0].count(), 0);
  EXPECT_THAT(mistake({{"x", floats({0})}}), HasSubstr("'tail' (t_count): the size 'time-1' is negative: -1"));
}

TEST_F(Runs, CheckElementsAgainstTheirBounds) {
  input("x", {Dim(kTime), Dim(2)}, Type::kInt32);
  graph_.inputs[0].below = Dim(5);
  input("lengths", {Dim(2)}, Type::kInt32);
  graph_.inputs[1].lengths_of = kTime;
  output(graph_.inputs[0].value);
  const auto feeds = [](std::vector<std::int32_t> x, std::vector<std::int32_t> lengths) {
    return Feeds{{"x", Tensor::of<std::int32_t>({2, 2}, x)}, {"lengths", Tensor::of<std::int32_t>({2}, lengths)}};
  };
  EXPECT_EQ(executable().run(feeds({0, 4, 1, 2}, {0, 2}))[0].at(1), 4);
  EXPECT_THAT(mistake(feeds({0, 4, 5, 2}, {0, 2})),
              HasSubstr("E0626 feed-out-of-range]: input 'x' holds 5 at [1, 0], expected from 0 to 4 (below 5)"));
  EXPECT_THAT(mistake(feeds({0, 4, 1, -1}, {0, 2})), HasSubstr("holds -1 at [1, 1]"));
  EXPECT_THAT(mistake(feeds({0, 4, 1, 2}, {0, 3})), HasSubstr("holds 3 at [1], expected from 0 to 2 (lengths of time)"));
}

TEST_F(Runs, RefuseTruthsThatAreNone) {
  output(input("mask", {Dim(2)}, Type::kBool));
  Tensor mask(DType::kBool, {2});
  mask.data<std::uint8_t>()[1] = 2;
  EXPECT_THAT(mistake({{"mask", mask}}), HasSubstr("input 'mask' holds 2 at [1]"));
}

TEST_F(Runs, CheckTheVariables) {
  const ValueId w = b_.variable("cell.W", {Type::kFloat, {Dim(2), Dim(3)}}, {});
  output(b_.op("t_twist", {w}));
  EXPECT_THAT(mistake({}), HasSubstr("E0627 missing-variable]: 'cell.W' has no value: float32[2, 3] expected"));
  variables_->set("cell.W", floats({3, 2}));
  EXPECT_THAT(mistake({}), HasSubstr("E0628 variable-mismatch]: 'cell.W' is float32[3, 2], float32[2, 3] expected"));
  variables_->set("cell.W", Tensor(DType::kFloat64, {2, 3}));
  EXPECT_THAT(mistake({}), HasSubstr("'cell.W' is float64[2, 3], float32[2, 3] expected"));
  variables_->set("cell.W", floats({2, 3}));
  EXPECT_EQ(executable().run({})[0].at(0), 1.5);
}

TEST_F(Runs, SayWhichNodeFailed) {
  Graph body;
  Builder inner(body);
  const ValueId x = inner.input("x", {Type::kFloat, {Dim(2)}});
  inner.input("step", {Type::kInt32, {}});
  inner.set_name("reader.lookup");
  inner.set_location({intern_file("graphs/reader.pbtxt"), 12, 6, 4, nullptr});
  body.outputs = {{"y", inner.op("t_fail", {x})}};
  output(b_.scan({input("x", {Dim(kTime), Dim(2)})}, std::move(body), 0, 1, kTime, false)[0]);
  const std::string text = mistake({{"x", floats({3, 2})}});
  EXPECT_THAT(text,
              HasSubstr("graphs/reader.pbtxt:12:6: error[E0610 index-out-of-range]: 'reader.lookup' (t_fail): index 7 of 5"));
}

TEST_F(Runs, RefuseOpsWithoutAKernel) {
  static const bool registered = [] {
    ir::OpRegistry::instance().add(
        OpDefinition("t_bare", "test").Input("x", "").Output("y").Internal().Shape(test::same_as_first).schema());
    return true;
  }();
  ASSERT_TRUE(registered);
  b_.set_name("odd");
  output(b_.op("t_bare", {input("x", {Dim(2)})}));
  EXPECT_THAT(mistake({{"x", floats({2})}}, ExitCode::kInvalidGraph),
              HasSubstr("'odd': op 't_bare' has no kernel for the CPU"));
}

TEST_F(Runs, SayWhichBatchIsTooLarge) {
  const ValueId a = b_.op("t_count", {}, {{"shape", Shape{Dim(kBatch), Dim(std::int64_t{1} << 40)}}});
  input("x", {Dim(kBatch)});
  b_.op("t_mix", {a});
  const std::string text = mistake({{"x", floats({64})}}, ExitCode::kNoRoom);
  EXPECT_THAT(text, HasSubstr("E0503 out-of-memory"));
  EXPECT_THAT(text, HasSubstr("batch = 64"));
}

}  // namespace
}  // namespace graphrun
