// Values that no gradient is taken of, brought out of loops.
#include "compiler/stopped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/builder.h"
#include "compiler/ir/verifier.h"

namespace graphrun {
namespace {

// A loop and the loop of its gradient hold values of one name.
TEST(Stopped, ValuesOfOneNameInTwoLoopsAreToldApart) {
  const Dim time = Symbol::named("time");
  ir::Graph graph;
  ir::Builder b(graph);
  const ir::ValueId x = b.input("x", {Type::kFloat, {time, 4}});
  for (const std::string name : {"forward", "backward"}) {
    ir::Graph body;
    body.name = name;
    ir::Builder inner(body);
    const ir::ValueId slice = inner.input("slice", {Type::kFloat, {4}});
    inner.input("step", {Type::kInt32, {}});
    inner.set_name("steps.v");
    body.outputs.push_back({"y", inner.op("stop_gradient", {slice})});
    b.set_name(name);
    graph.outputs.push_back({name, b.scan({x}, body, 0, 1, time, false)[0]});
  }
  EXPECT_THAT(take_stopped(graph), ::testing::ElementsAre("stopped.0", "stopped.1"));
  ir::verify(graph, "take_stopped");
}

}  // namespace
}  // namespace graphrun
