// An optimizer is what registers itself as one: this file adds two, and training finds them, their slots and their settings by
// their schemas alone.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/compile.h"
#include "compiler/training.h"
#include "ops/optimizer/update_op.h"
#include "runtime/execute/executable.h"
#include "tests/folders.h"
#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

// p' = p - rate * pull * g / n for the n-th update that it counts itself, in a slot of one element.
const OpRegistration counting_op =
    UpdateOp("t_counting", Counted::kNo)
        .Doc("A rule of this test", "n' = n + 1")
        .Slot("n", "the number of updates")
        .SlotShape([](std::string_view, const Shape&, const Attributes&) { return Shape{Dim(1)}; })
        .Setting("pull", 1, ir::Range::kPositive, "how far it goes");
REGISTER_KERNEL("t_counting_update", kCpu, [](const KernelRequest&) {
  return Kernel{[](const KernelContext& c) {
    double& n = *c.outputs[1].as<double>();
    n = *c.inputs[2].as<double>() + 1;
    const double length = *c.inputs[3].as<double>() * c.attributes->number("pull") / n;
    for (std::int64_t i = 0; i < c.outputs[0].count(); ++i)
      c.outputs[0].as<double>()[i] = c.inputs[0].as<double>()[i] - length * c.inputs[1].as<double>()[i];
  }};
});

class OwnOptimizer : public ::testing::Test {
 protected:
  ir::Graph graph() const {
    put_bytes(folder_ / "g.pbtxt",
              "name: \"g\"\ninput { name: \"x\" shape: \"[3]\" }\nparameter { name: \"w\" shape: \"[3]\" }\n"
              "parameter { name: \"M\" shape: \"[2, 3]\" }\noutput: \"loss = sum(w * x) + sum(M * x)\"\n");
    GraphRequest request;
    request.path = folder_ / "g.pbtxt";
    request.graphs_root = tests::source_folder() + "/graphs";
    return load_graph(request);
  }
  TemporaryFolder folder_;
};

TEST_F(OwnOptimizer, TrainsWithSlotsOfItsOwnShape) {
  TrainOptions train;
  train.minimize = "loss", train.optimizer = "t_counting", train.attributes = {{"pull", 2.0}};
  CompileOptions options;
  options.precision = Precision::kFloat64;
  const auto variables = std::make_shared<Variables>();
  Program program = compile(graph(), options, &train);
  initialize(program, *variables, 1);
  Executable executable(std::move(program), variables);
  variables->set("w", Tensor::of<double>({3}, {1, 1, 1}));
  const Feeds feeds = {{"x", Tensor::of<double>({3}, {1, -2, 3})}, {kLearningRate, Tensor::of<double>({}, {0.1})}};
  for (int n = 1; n <= 3; ++n) executable.run(feeds);
  const double length = 0.1 * 2 * (1 + 1.0 / 2 + 1.0 / 3);
  const double x[] = {1, -2, 3};
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_NEAR(variables->at("w").at(i), 1 - length * x[i], 1e-14);
  EXPECT_EQ(variables->at("M.t_counting_n").sizes(), Sizes{1});
  EXPECT_EQ(variables->at("M.t_counting_n").at(0), 3);
}

// A slot that a schema wants of another shape is refused, as is one that a parameter should not have.
TEST_F(OwnOptimizer, RefusesSlotsThatItsSchemaDoesNotMean) {
  ir::Graph graph;
  ir::Builder b(graph);
  const auto tensor = [&](const char* name, Shape shape) { return b.input(name, {Type::kFloat, std::move(shape)}); };
  const auto p = tensor("p", {Dim(2), Dim(3)}), rows = tensor("rows", {Dim(2)}), columns = tensor("columns", {Dim(3)}),
             rate = tensor("rate", {}), v = tensor("v", {Dim(4)});
  using Inputs = std::vector<ir::ValueId>;
  EXPECT_EQ(b.ops("adafactor_update", {p, p, rows, columns, ir::kNone, rate, rate}).size(), 3u);
  EXPECT_EQ(b.ops("adafactor_update", {v, v, v, ir::kNone, ir::kNone, rate, rate}).size(), 2u);
  EXPECT_EQ(b.ops("adafactor_update", {v, v, v, ir::kNone, v, rate, rate}, {{"beta1", 0.9}}).size(), 3u);
  for (const Inputs& wrong : {Inputs{p, p, columns, rows, ir::kNone, rate, rate},
                              {p, p, rows, ir::kNone, ir::kNone, rate, rate},
                              {v, v, v, v, ir::kNone, rate, rate},
                              {p, p, rows, columns, p, rate, rate}})
    EXPECT_THROW(b.ops("adafactor_update", wrong), ir::OpError);
}

}  // namespace
}  // namespace graphrun
