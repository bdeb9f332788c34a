// Every sequence rule: applied to whole sequences, the op gives for each step the result of that step's operands; an op that
// sums over leading axes gives the sum over the steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/ir/op.h"
#include "compiler/ir/sequence.h"
#include "compiler/ir/verifier.h"
#include "tests/ops/fixture.h"

namespace graphrun::tests {
namespace {

constexpr std::int64_t kSteps = 3;

// An operand at a step: numbers are halved or doubled; indices and booleans are reordered.
Tensor at_step(const Tensor& t, std::int64_t step) {
  Tensor out = t.clone();
  if (out.dtype() == DType::kFloat64) {
    for (double& x : out.span<double>()) x *= step == 0 ? 1 : step == 1 ? 0.5 : 2;
  } else if (step == 1 && out.dtype() == DType::kInt32) {
    std::reverse(out.span<std::int32_t>().begin(), out.span<std::int32_t>().end());
  }
  return out;
}

Tensor stacked(const std::vector<Tensor>& steps) {
  Sizes sizes = steps[0].sizes();
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(steps.size()));
  Tensor out(steps[0].dtype(), sizes);
  for (std::size_t t = 0; t < steps.size(); ++t) {
    std::copy_n(static_cast<const char*>(steps[t].raw()), steps[t].bytes(),
                static_cast<char*>(out.raw()) + t * steps[t].bytes());
  }
  return out;
}

struct Lifted {
  ir::Graph graph;
  std::vector<ir::ValueId> inputs, outputs;
};

// The case's op over sequences, by its rule or (`again`) applied unchanged. Nothing if the rule cannot handle it.
std::optional<Lifted> lift(const Case& c, const std::vector<bool>& is_sequence, bool again) {
  const CaseGraph at_step = forward_graph(c);
  if (at_step.graph.nodes.size() != 1) return std::nullopt;  // operands are cast first, and casts have their own cases
  const ir::Node& node = at_step.graph.nodes[0];
  Lifted out;
  ir::Builder b(out.graph);
  std::vector<ir::SequenceContext::SequenceOperand> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ir::kNone) {
      operands.emplace_back();
      out.inputs.push_back(ir::kNone);
      continue;
    }
    const ir::TensorType type = at_step.graph.type(node.inputs[i]);
    ir::TensorType outside = type;
    if (is_sequence[i]) outside.shape.insert(outside.shape.begin(), Dim(kSteps));
    out.inputs.push_back(b.input("x" + std::to_string(i), outside));
    operands.push_back({out.inputs.back(), type, is_sequence[i]});
  }
  ir::SequenceContext context(b, *node.op, node.attributes, operands, Dim(kSteps));
  out.outputs = again ? context.again(out.inputs) : node.op->sequence(context);
  if (out.outputs.empty()) return std::nullopt;
  for (ir::ValueId v : out.outputs) out.graph.outputs.push_back({out.graph.value(v).name, v});
  ir::verify(out.graph, c.full_name());
  return out;
}

std::vector<std::vector<Tensor>> results_by_step(const Case& c, const std::vector<bool>& is_sequence) {
  std::vector<std::vector<Tensor>> results;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    Case one = c;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      if (is_sequence[i]) one.inputs[i] = at_step(c.inputs[i], t);
    }
    results.push_back(run_forward(one, Precision::kFloat64));
  }
  return results;
}

std::vector<Tensor> run_lifted(const Lifted& lifted, const Case& c, const std::vector<bool>& is_sequence) {
  std::map<ir::ValueId, Tensor> feeds;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (lifted.inputs[i] == ir::kNone) continue;
    std::vector<Tensor> steps;
    for (std::int64_t t = 0; t < kSteps; ++t) steps.push_back(at_step(c.inputs[i], t));
    feeds[lifted.inputs[i]] = is_sequence[i] ? stacked(steps) : c.inputs[i];
  }
  const CaseGraph forward = forward_graph(c);
  return interpret(lifted.graph, feeds, lifted.outputs, {Precision::kFloat64, forward.symbols});
}

void expect_same_values(const Tensor& found, const Tensor& expected, const std::string& where) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << where;
  ASSERT_EQ(found.dtype(), expected.dtype()) << where;
  for (std::int64_t k = 0; k < expected.count(); ++k) {
    const double x = expected.at(k), y = found.at(k);
    ASSERT_TRUE(std::abs(x - y) <= 1e-12 * (1 + std::abs(x)) || (std::isnan(x) && std::isnan(y)) || x == y)
        << where << " at " << k << ": " << y << ", at each step " << x;
  }
}

// All operands as sequences, then each one alone.
std::vector<std::vector<bool>> choices(const Case& c) {
  std::vector<std::vector<bool>> out(1);
  for (const Tensor& t : c.inputs) out[0].push_back(!t.empty());
  for (std::size_t i = 0; i < c.inputs.size() && c.inputs.size() > 1; ++i) {
    if (c.inputs[i].empty()) continue;
    out.emplace_back(c.inputs.size(), false);
    out.back()[i] = true;
  }
  return out;
}

TEST(OverSequence, GivesWhatEachStepGives) {
  std::map<std::string, int> checked;
  for (const Case& c : all_cases()) {
    const ir::OpSchema& op = ir::OpRegistry::instance().get(c.op);
    if (c.large || c.inputs.empty() || !op.sequence || op.random) continue;
    for (const std::vector<bool>& is_sequence : choices(c)) {
      const std::optional<Lifted> lifted = lift(c, is_sequence, false);
      if (!lifted) continue;
      const std::vector<std::vector<Tensor>> steps = results_by_step(c, is_sequence);
      const std::vector<Tensor> found = run_lifted(*lifted, c, is_sequence);
      for (std::size_t r = 0; r < found.size(); ++r) {
        std::vector<Tensor> of_result;
        for (const std::vector<Tensor>& at : steps) of_result.push_back(at[r]);
        expect_same_values(found[r], stacked(of_result), c.full_name());
      }
      ++checked[c.op];
    }
  }
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
    const int cases = op->sequence && !op->random ? checked[op->name] : 1;
    EXPECT_GT(cases, 0) << op->name;
  }
}

TEST(OverSequence, OpsThatSumOverLeadingAxesGiveTheSum) {
  std::map<std::string, int> checked;
  for (const Case& c : all_cases()) {
    const ir::OpSchema& op = ir::OpRegistry::instance().get(c.op);
    if (c.large || !op.sums) continue;
    const std::vector<bool> all(c.inputs.size(), true);
    const std::optional<Lifted> lifted = lift(c, all, true);
    ASSERT_TRUE(lifted) << c.full_name();
    Tensor sum;
    for (const std::vector<Tensor>& at : results_by_step(c, all)) {
      const Tensor next = at[0].converted(DType::kFloat64);
      if (sum.empty()) {
        sum = next.clone();
      } else {
        for (std::int64_t k = 0; k < sum.count(); ++k) sum.span<double>()[static_cast<std::size_t>(k)] += next.at(k);
      }
    }
    expect_same_values(run_lifted(*lifted, c, all)[0].converted(DType::kFloat64), sum, c.full_name());
    ++checked[c.op];
  }
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
    const int cases = op->sums ? checked[op->name] : 1;
    EXPECT_GT(cases, 0) << op->name;
  }
}

// An op without a rule keeps a whole loop from dissolving, so each needs a reason.
TEST(OverSequence, OpsWithoutARuleAreKnown) {
  std::vector<std::string> without;
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
    const bool needs_none = op->inputs.empty() || op->family == "optimizer" || op->name == "scan" || op->family == "test";
    if (!op->sequence && !needs_none) without.push_back(op->name);
  }
  // A table or buffer for each step would need a batched scatter, which nothing uses yet. Fused and merged nodes are made after
  // loops have been examined.
  EXPECT_EQ(without, (std::vector<std::string>{"categorical", "fused", "fused_reduction", "gather_matmul", "matmul_many",
                                               "matmul_reduce_many", "matmul_sum", "put", "scatter_add", "select_rows"}));
}

}  // namespace
}  // namespace graphrun::tests
