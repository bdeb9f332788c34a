#include "compiler/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "compiler/ir/verifier.h"
#include "compiler/memory.h"
#include "tests/compiler/random_graph.h"

namespace graphrun {
namespace {

using ir::Builder;
using ir::Graph;
using ir::ValueId;
using testing::ElementsAre;

class Schedule : public testing::Test {
 protected:
  Schedule() { test::register_small_ops(); }

  ValueId variable(const std::string& name) {
    ir::Variable variable;
    variable.kind = ir::Variable::Kind::kState;
    return b_.variable(name, type_, variable);
  }
  ValueId input(const std::string& name) { return b_.input(name, type_); }
  ValueId node(const std::string& name, const std::string& op, std::vector<ValueId> inputs) {
    b_.set_name(name);
    return b_.op(op, std::move(inputs));
  }
  ValueId count(const std::string& name) {
    b_.set_name(name);
    return b_.op("t_count", {}, {{"shape", type_.shape}});
  }
  void output(ValueId v) { graph_.outputs.push_back({graph_.value(v).name, v}); }

  // The names of the nodes' first results, in their new order.
  std::vector<std::string> order() {
    ir::verify(graph_, "test");
    const Graph scheduled = schedule(graph_);
    ir::verify(scheduled, "schedule");
    return names(scheduled);
  }
  static std::vector<std::string> names(const Graph& graph) {
    std::vector<std::string> names;
    for (const ir::Node& node : graph.nodes) {
      names.push_back(node.outputs.empty() ? node.op->name : graph.value(node.outputs[0]).name);
    }
    return names;
  }

  Graph graph_;
  Builder b_{graph_};
  const ir::TensorType type_{Type::kFloat, {Dim(Symbol::named("batch")), Dim(3)}};
};

TEST_F(Schedule, KeepsTheOrderWhereThereIsNoReasonToChangeIt) {
  const ValueId x = input("x");
  const ValueId a = node("a", "t_twist", {x}), c = node("b", "t_mix", {a});
  output(node("c", "t_average", {a, c}));
  EXPECT_THAT(order(), ElementsAre("a", "b", "c"));
}

TEST_F(Schedule, UpdatesAVariableAfterItsReaders) {
  const ValueId w = variable("w"), x = input("x");
  const ValueId next = node("next", "t_update", {w, x});
  const ValueId view = node("view", "t_flat", {w});
  output(node("late", "t_mix", {view}));
  output(node("later", "t_mix", {w}));
  graph_.variables[0].next = next;
  EXPECT_THAT(order(), ElementsAre("view", "late", "later", "next"));
}

TEST_F(Schedule, UpdatesFirstWhereAReaderNeedsTheNewValueToo) {
  const ValueId w = variable("w"), x = input("x");
  const ValueId next = node("next", "t_update", {w, x});
  output(node("change", "t_average", {w, next}));
  output(node("other", "t_mix", {w}));
  graph_.variables[0].next = next;
  EXPECT_THAT(order(), ElementsAre("other", "next", "change"));
}

TEST_F(Schedule, UpdatesAsSoonAsItCan) {
  const ValueId w = variable("w"), x = input("x");
  const ValueId g = node("gradient", "t_mix", {node("y", "t_mix", {x})});
  const ValueId a = node("a", "t_mix", {g}), c = node("b", "t_mix", {a});
  output(c);
  graph_.variables[0].next = node("next", "t_update", {w, g});
  EXPECT_THAT(order(), ElementsAre("y", "gradient", "next", "a", "b"));
}

TEST_F(Schedule, MakesConstantsWhereTheyAreNeeded) {
  const ValueId x = input("x");
  const ValueId zeros = count("zeros");
  const ValueId view = node("view", "t_flat", {zeros});
  const ValueId a = node("a", "t_mix", {x}), c = node("b", "t_mix", {a});
  const ValueId flat = node("flat", "t_flat", {c});
  output(node("c", "t_average", {flat, view}));
  EXPECT_THAT(order(), ElementsAre("a", "b", "flat", "zeros", "view", "c"));
}

TEST_F(Schedule, OrdersTheBodiesOfScans) {
  Graph body;
  Builder inner(body);
  const ValueId h = inner.input("h", type_);
  inner.input("step", {Type::kInt32, {}});
  inner.set_name("next");
  const ValueId next = inner.op("t_update", {h, h});
  inner.set_name("seen");
  const ValueId seen = inner.op("t_mix", {h});
  body.outputs = {{"h", next}, {"seen", seen}};
  b_.set_name("scan");
  output(b_.scan({input("begin")}, std::move(body), 1, 0, Symbol::named("time"), false)[1]);
  EXPECT_THAT(names(schedule(graph_).nodes[0].regions[0]), ElementsAre("seen", "next"));
}

// A loop over `x`; its name is the end's.
ValueId loop(Builder& b, const std::string& name, ValueId begin, ValueId x, const Dim& steps, const ir::TensorType& type) {
  Graph body;
  Builder inside(body);
  const ValueId h = inside.input("h", type), slice = inside.input("x", type);
  inside.input("step", {Type::kInt32, {}});
  body.outputs = {{"h", inside.op("t_average", {h, slice})}};
  b.set_name(name);
  return b.scan({begin, x}, std::move(body), 1, 1, steps, false)[0];
}

TEST_F(Schedule, BringsLoopsTogetherThatCanRunAtTheSameTime) {
  const Dim time(Symbol::named("time"));
  const ir::TensorType sequence{Type::kFloat, {time, type_.shape[0], type_.shape[1]}};
  const ValueId begin = input("begin"), x = b_.input("x", sequence);
  const ValueId a = loop(b_, "a", begin, x, time, type_);
  output(node("after", "t_mix", {a}));
  b_.set_name("before");
  const ValueId y = b_.op("t_mix", {x});
  output(loop(b_, "b", begin, y, time, type_));
  output(loop(b_, "c", a, x, time, type_));
  EXPECT_THAT(order(), ElementsAre("before", "a.h", "b.h", "after", "c.h"));
}

TEST_F(Schedule, KeepsGraphsSound) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Graph graph = test::RandomGraph(seed).make(25);
    const Graph scheduled = schedule(graph);
    ir::verify(scheduled, "schedule");
    EXPECT_THAT(names(scheduled), testing::UnorderedElementsAreArray(names(graph)));
  }
}

// A hundred thousand nodes, in a chain and in parallel, that all read the variables: takes well under a second, without
// recursion.
TEST_F(Schedule, HandlesLargeGraphs) {
  const ValueId w = variable("w"), v = variable("v");
  ValueId x = input("x");
  for (int i = 0; i < 50000; ++i) {
    x = node("n", "t_average", {x, w});
    node("m", "t_average", {count("c"), v});
  }
  output(x);
  graph_.variables[0].next = node("w.next", "t_update", {w, x});
  graph_.variables[1].next = node("v.next", "t_update", {v, x});
  const std::clock_t begin = std::clock();
  const Graph scheduled = schedule(std::move(graph_));
  const MemoryPlan plan = plan_memory(scheduled);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 5.0);  // about 0.2 s without sanitizers
  EXPECT_EQ(scheduled.nodes.size(), 150002u);
  EXPECT_TRUE(plan.root.copies.empty() || plan.root.copies.size() == 1);
}

}  // namespace
}  // namespace graphrun
