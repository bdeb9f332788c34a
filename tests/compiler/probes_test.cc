// Gradients of values inside scans, from probes.
#include "compiler/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/fetch.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/verifier.h"
#include "runtime/execute/executable.h"

namespace graphrun {
namespace {

using ir::ValueId;

// A loop over `outer` whose body contains a loop over `inner`: h = sigmoid(x[o, i] + h), and the sum of its last h with s.
ir::Graph nested_loops() {
  const Dim outer = Symbol::named("outer"), inner = Symbol::named("inner");
  const ir::TensorType row{Type::kFloat, {Dim(3)}};
  ir::Graph step;
  step.name = "in";
  {
    ir::Builder b(step);
    const ValueId h = b.input("in.h.before", row), x = b.input("in.x", row);
    b.input("in.step", {Type::kInt32, {}});
    const ValueId sum = b.op("add", {x, h});
    b.set_name("in.i");
    step.outputs.push_back({"h", b.op("sigmoid", {sum})});
  }
  ir::Graph body;
  body.name = "out";
  {
    ir::Builder b(body);
    const ValueId s = b.input("out.s.before", row), x = b.input("out.x", {Type::kFloat, {inner, Dim(3)}});
    b.input("out.step", {Type::kInt32, {}});
    const ValueId end = b.scan({s, x}, step, 1, 1, inner, false)[0];
    b.set_name("out.s");
    body.outputs.push_back({"s", b.op("tanh", {end})});
  }
  ir::Graph graph;
  graph.name = "nested";
  ir::Builder b(graph);
  const ValueId x = b.input("x", {Type::kFloat, {outer, inner, Dim(3)}});
  const ValueId end = b.scan({b.zeros(row), x}, body, 1, 1, outer, false)[0];
  b.set_name("loss");
  graph.outputs.push_back({"loss", b.op("sum", {b.op("mul", {end, end})})});
  return graph;
}

std::vector<ValueId> sigmoids_and_states(const ir::Graph& region, std::size_t states) {
  std::vector<ValueId> chosen;
  for (std::size_t s = 0; s < states; ++s) chosen.push_back(region.inputs[s].value);
  for (const ir::Node& node : region.nodes) {
    if (node.op->name == "sigmoid") chosen.push_back(node.outputs[0]);
  }
  return chosen;
}

// The gradient of x at each step is that of the sigmoid there times its derivative, and so is that of the state it is added to.
TEST(Probes, GiveTheGradientOfEveryStep) {
  ir::Graph graph = nested_loops();
  const std::vector<Probe> probes = add_probes(graph, sigmoids_and_states);
  ir::verify(graph, "add_probes");
  std::vector<std::string> names;
  for (const Probe& probe : probes) names.push_back(probe.of);
  ASSERT_THAT(names, testing::UnorderedElementsAre("out.s.before", "in.h.before", "in.i"));
  graph = with_fetches_kept(std::move(graph), {"in.i"});
  std::vector<ValueId> by = {graph.inputs[0].value};
  for (const Probe& probe : probes) by.push_back(probe.value);
  const std::vector<ValueId> gradients = differentiate(graph, graph.output("loss")->value, by);
  CompileOptions options;
  options.fetches = {"in.i", "d.x"};
  graph.outputs.push_back({"d.x", gradients[0]});
  for (std::size_t p = 0; p < probes.size(); ++p) {
    graph.outputs.push_back({"d." + probes[p].of, gradients[1 + p]});
    options.fetches.push_back("d." + probes[p].of);
  }
  Executable executable(compile(graph, options), std::make_shared<Variables>());
  Tensor x(DType::kFloat32, {2, 4, 3});
  std::mt19937 random(3);
  for (float& element : x.span<float>()) element = static_cast<float>(random() % 1000) / 500 - 1;
  const std::vector<Tensor> fetched = executable.run({{"x", x}});
  const Tensor &gate = fetched[0], &dx = fetched[1];
  bool any = false;
  for (std::size_t p = 0; p < probes.size(); ++p) {
    const Tensor& gradient = fetched[2 + p];
    if (probes[p].of == "out.s.before") {
      EXPECT_EQ(gradient.sizes(), (Sizes{2, 3}));
      continue;
    }
    ASSERT_EQ(gradient.sizes(), x.sizes()) << probes[p].of;
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const double slope = probes[p].of == "in.i" ? gate.at(i) * (1 - gate.at(i)) : 1;
      EXPECT_NEAR(gradient.at(i) * slope, dx.at(i), 1e-6) << probes[p].of << " " << i;
      any = any || std::abs(dx.at(i)) > 1e-3;
    }
  }
  EXPECT_TRUE(any);
}

TEST(Probes, LeaveTheNumbersAlone) {
  ir::Graph plain = nested_loops(), probed = nested_loops();
  EXPECT_TRUE(add_probes(probed, [](const ir::Graph&, std::size_t) { return std::vector<ValueId>(); }).empty());
  add_probes(probed, sigmoids_and_states);
  const Tensor x = Tensor::of<float>({1, 2, 3}, {1, 2, 3, -1, -2, -3});
  const auto loss = [&](const ir::Graph& graph) {
    return Executable(compile(graph), std::make_shared<Variables>()).run({{"x", x}})[0].at(0);
  };
  EXPECT_EQ(loss(plain), loss(probed));
}

}  // namespace
}  // namespace graphrun
