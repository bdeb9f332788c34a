// Passes look for what an operator is, not for its name: one that they do not know is rewritten by what its schema says.
#include "compiler/ir/roles.h"

#include <gtest/gtest.h>

#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/passes/merge.h"
#include "compiler/passes/simplify.h"
#include "tests/compiler/small_ops.h"

namespace graphrun {
namespace {

void like(ir::InferContext& c, std::size_t input) { c.outputs = {c.input(input)}; }

// A second selection, a second addition and an op that undoes itself. None has a kernel: nothing here runs.
void register_ops() {
  static const bool registered = [] {
    ir::OpRegistry& registry = ir::OpRegistry::instance();
    registry.add(OpDefinition("t_choose", "test")
                     .Input("condition", "")
                     .Input("a", "")
                     .Input("b", "")
                     .Output("y")
                     .Internal()
                     .Role(ir::Role::kSelect)
                     .Shape([](ir::InferContext& c) { like(c, 1); })
                     .schema());
    registry.add(OpDefinition("t_plus", "test")
                     .Input("a", "")
                     .Input("b", "")
                     .Output("y")
                     .Internal()
                     .Role(ir::Role::kAdd)
                     .Algebra({0, 0, {}, false, false, false})
                     .Shape([](ir::InferContext& c) { like(c, 0); })
                     .schema());
    registry.add(OpDefinition("t_mirror", "test")
                     .Input("x", "")
                     .Output("y")
                     .Internal()
                     .Algebra({{}, {}, {}, true, false, false})
                     .Shape([](ir::InferContext& c) { like(c, 0); })
                     .schema());
    return true;
  }();
  ASSERT_TRUE(registered);
}

std::string printed(const std::string& text) { return print(ir::parse(text, "test")); }

TEST(Roles, SimplifyKnowsASelectionOfAnotherName) {
  register_ops();
  const PassResult result = simplify(ir::parse(R"(graph "g" {
    input %c: BOOL[2]
    input %a: FLOAT[2]
    input %b: FLOAT[2]
    %not = not(%c)
    %y = t_choose(%not, %a, %b)
    %z = t_choose(%c, %a, %a)
    output "y" = %y
    output "z" = %z
  })",
                                               "test"));
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(print(result.graph), printed(R"(graph "g" {
    input %c: BOOL[2]
    input %a: FLOAT[2]
    input %b: FLOAT[2]
    %not = not(%c)
    %y = t_choose(%c, %b, %a)
    output "y" = %y
    output "z" = %a
  })"));
}

TEST(Roles, SimplifyGoesByTheAlgebraOfAnOp) {
  register_ops();
  const PassResult result = simplify(ir::parse(R"(graph "g" {
    input %a: FLOAT[2]
    %zeros = zeros(; shape=[2], type="FLOAT")
    %same = t_plus(%zeros, %a)
    %once = t_mirror(%same)
    %twice = t_mirror(%once)
    output "y" = %twice
  })",
                                               "test"));
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(result.graph.outputs[0].value, result.graph.inputs[0].value) << print(result.graph);
}

TEST(Roles, MergeAddsUpProductsThatAnotherAdditionAdds) {
  register_ops();
  const PassResult result = merge(ir::parse(R"(graph "g" {
    input %x: FLOAT[batch, 3]
    input %W: FLOAT[3, 4]
    input %h: FLOAT[batch, 4]
    input %U: FLOAT[4, 4]
    %p = matmul(%x, %W)
    %q = matmul(%h, %U)
    %y = t_plus(%p, %q)
    output "y" = %y
  })",
                                            "test"));
  EXPECT_TRUE(result.changed);
  ASSERT_EQ(result.graph.nodes.size(), 1u) << print(result.graph);
  EXPECT_EQ(result.graph.nodes[0].op->name, "matmul_sum");
}

TEST(Roles, NumbersAndZerosAreFound) {
  const ir::Graph g = ir::parse(R"(graph "g" {
    input %x: FLOAT[2]
    %half = constant(; value=0.5, type="FLOAT")
    %nothing = constant(; value=0, type="FLOAT")
    %zeros = zeros(; shape=[2], type="FLOAT")
    %y = add(%x, %half)
    output "y" = %y
  })",
                                "test");
  const auto value = [&](const char* name) {
    for (std::size_t v = 0; v < g.values.size(); ++v) {
      if (g.values[v].name == name) return static_cast<ir::ValueId>(v);
    }
    return ir::kNone;
  };
  EXPECT_EQ(ir::number(g, value("half")), 0.5);
  EXPECT_EQ(ir::number(g, value("zeros")), std::nullopt);
  EXPECT_EQ(ir::number(g, ir::kNone), std::nullopt);
  EXPECT_TRUE(is_zeros(g, value("zeros")));
  EXPECT_TRUE(is_zeros(g, value("nothing")));
  EXPECT_FALSE(is_zeros(g, value("half")));
  EXPECT_EQ(ir::producer(g, value("x")), nullptr);
  EXPECT_EQ(ir::made_by(g, value("y"), ir::Role::kAdd), ir::producer(g, value("y")));
  EXPECT_EQ(ir::made_by(g, value("y"), ir::Role::kSubtract), nullptr);
}

}  // namespace
}  // namespace graphrun
