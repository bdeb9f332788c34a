// The backward scan as a plan, and that what is built is what was planned.
#include "compiler/backward_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/verifier.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::ValueId;
using testing::ElementsAre;
using testing::IsEmpty;
using From = BackwardScanPlan::Sequence::Kind;

const ir::TensorType kRow = {Type::kFloat, {Symbol::named("batch"), 4}};

// h := tanh(h * w + x) with the output y = h * x, followed by the gradients of h, x and w.
struct Example {
  JointBody joint;
  ValueId h, x, w, step;
  ValueId a, next, y;  // a = h * w + x
  ir::Graph body;      // of the forward scan

  Example() {
    ir::Graph& g = joint.graph;
    g.name = "loop";
    ir::Builder b(g);
    h = b.input("h", kRow), x = b.input("x", kRow), w = b.input("w", kRow);
    step = b.input("step", {Type::kInt32, {}});
    b.set_name("a");
    a = b.op("add", {b.op("mul", {h, w}), x});
    b.set_name("next");
    next = b.op("tanh", {a});
    b.set_name("y");
    y = b.op("mul", {next, x});
    g.outputs = {{"h", next}, {"y", y}};
    body = g;
    joint.forward_nodes = g.nodes.size();
    joint.layout = {1, 1, 1, 1};
    const ValueId d_after = b.input("d.h", kRow), d_y = b.input("d.y", kRow);
    g.inputs.resize(4);
    joint.seeds = {d_after, d_y};
    b.set_name("d");
    const ValueId d_next = b.op("add", {d_after, b.op("mul", {d_y, x})});
    const ValueId d_a = b.equation("g * (1 - y * y)", {{"g", d_next}, {"y", next}});
    const ValueId d_x = b.op("add", {d_a, b.op("mul", {d_y, next})});
    joint.d_inputs = {b.op("mul", {d_a, w}), d_x, b.op("mul", {d_a, h})};
  }

  BackwardScanPlan::Sequence saved(ValueId v) const { return {From::kSaved, v}; }
};

TEST(BackwardScan, SavesWhatItReads) {
  const Example e;
  const BackwardScanPlan plan = plan_backward_scan(e.joint, false);
  EXPECT_THAT(plan.states, ElementsAre(0u));
  EXPECT_THAT(plan.sums, ElementsAre(2u));
  EXPECT_THAT(plan.d_slices, ElementsAre(1u));
  EXPECT_THAT(plan.invariants, ElementsAre(2u));
  const BackwardScanPlan::Sequence d_y{From::kOutputGradient, e.joint.seeds[1], 1}, x{From::kSlice, e.x, 1};
  EXPECT_THAT(plan.sequences, ElementsAre(d_y, e.saved(e.h), x, e.saved(e.next)));
  EXPECT_THAT(plan.saved(), ElementsAre(e.h, e.next));
  EXPECT_THAT(plan.recomputed, IsEmpty());
}

// tanh(h * w + x) is made again from h, which is saved in any case, and two operands that are there.
TEST(BackwardScan, RecomputesWhatWouldTakeMoreToSave) {
  const Example e;
  const BackwardScanPlan plan = plan_backward_scan(e.joint, true);
  EXPECT_THAT(plan.saved(), ElementsAre(e.h));
  EXPECT_THAT(plan.recomputed, ElementsAre(0u, 1u, 2u));
  const TapeDecision decision = decision_of(e.joint, plan, Symbol::named("time"));
  ASSERT_EQ(decision.saved.size(), 1u);
  EXPECT_EQ(decision.saved[0].name, "h");
  ASSERT_EQ(decision.recomputed.size(), 1u);
  EXPECT_EQ(decision.recomputed[0].name, "next");
}

TEST(BackwardScan, NeedsNoGradientThatDoesNotArrive) {
  Example e;
  e.joint.seeds = {kNone, kNone};
  e.joint.d_inputs = {kNone, kNone, kNone};
  e.joint.graph.nodes.resize(e.joint.forward_nodes);
  const BackwardScanPlan plan = plan_backward_scan(e.joint, true);
  EXPECT_THAT(plan.states, IsEmpty());
  EXPECT_THAT(plan.sums, IsEmpty());
  EXPECT_THAT(plan.sequences, IsEmpty());
  EXPECT_THAT(plan.invariants, IsEmpty());
}

TEST(BackwardScan, IsBuiltAsPlanned) {
  const Example e;
  const Dim time = Symbol::named("time");
  ir::TensorType steps = kRow;
  steps.shape.insert(steps.shape.begin(), time);
  ir::Graph g;
  ir::Builder b(g);
  const ValueId h = b.input("h", kRow), x = b.input("x", steps), w = b.input("w", kRow), d_y = b.input("d_y", steps);
  b.set_name("loop");
  const std::vector<ValueId> forward = b.scan({h, x, w}, e.body, 1, 1, time, false);
  const BackwardScanPlan plan = plan_backward_scan(e.joint, false);
  const std::vector<OperandGradient> gradients = build_backward_scan(b, 0, e.joint, plan, {kNone, d_y});
  ASSERT_EQ(gradients.size(), 3u);
  for (const OperandGradient& d : gradients) {
    g.outputs.push_back({"d" + std::to_string(d.operand), d.value});
    EXPECT_EQ(g.type(d.value), g.type(g.nodes[0].inputs[d.operand]));
  }
  ir::verify(g, "build_backward_scan");

  const ir::Node& saving = g.nodes[0];
  ASSERT_EQ(saving.outputs.size(), forward.size() + 2);
  EXPECT_EQ(g.value(saving.outputs[2]).name, "saved.h");
  EXPECT_EQ(g.value(saving.outputs[3]).name, "saved.next");
  const ir::Node& backward = g.nodes.back();
  ASSERT_TRUE(ir::is_scan(backward));
  EXPECT_TRUE(backward.attributes.boolean("reverse"));
  const ir::ScanLayout l = scan_layout(backward);
  EXPECT_EQ(l.states, 2u);  // the gradient of h, the sum for w
  const std::vector<ValueId> sequences(backward.inputs.begin() + 2, backward.inputs.begin() + 6);
  EXPECT_THAT(sequences, ElementsAre(d_y, saving.outputs[2], x, saving.outputs[3]));
  EXPECT_EQ(backward.inputs.back(), w);
}

}  // namespace
}  // namespace graphrun
