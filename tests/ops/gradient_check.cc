#include "tests/ops/gradient_check.h"

#include <algorithm>
#include <cmath>

#include "tests/ops/fixture.h"
#include "tests/same_bits.h"

namespace graphrun::tests {
namespace {

constexpr double kStep = 1e-4, kTolerance = 1e-6;

// The weighted sum of all results.
double loss_of(const CaseGraph& g, const std::map<ir::ValueId, Tensor>& feeds, const std::vector<Tensor>& weights) {
  double loss = 0;
  const std::vector<Tensor> results = interpret(g.graph, feeds, g.outputs, {Precision::kFloat64, g.symbols});
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].dtype() != DType::kFloat64) continue;
    for (std::int64_t k = 0; k < results[i].count(); ++k) loss += results[i].at(k) * weights[i].at(k);
  }
  return loss;
}

std::vector<double> finite_differences(const Case& c, std::size_t input) {
  const CaseGraph g = forward_graph(c);
  const std::vector<Tensor> weights = result_weights(g);
  std::map<ir::ValueId, Tensor> feeds = feeds_of(g, c.inputs);
  Tensor& x = feeds[g.inputs[input]] = c.inputs[input].clone();
  std::vector<double> out;
  for (double& element : x.span<double>()) {
    const double before = element;
    element = before + kStep;
    const double above = loss_of(g, feeds, weights);
    element = before - kStep;
    out.push_back((above - loss_of(g, feeds, weights)) / (2 * kStep));
    element = before;
  }
  return out;
}

std::string compare(const Tensor& derived, const std::vector<double>& expected, double scale, bool may_be_zero) {
  double most = 0;
  for (double e : expected) most = std::max(most, std::abs(e));
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const double found = scale * derived.at(static_cast<std::int64_t>(k));
    if (!(std::abs(found - expected[k]) <= kTolerance * std::max(most, 1e-2))) {
      return "element " + std::to_string(k) + " is " + std::to_string(found) + ", the finite difference " +
             std::to_string(expected[k]);
    }
  }
  if (may_be_zero) return most == 0 ? "" : "the case says that it is zero, and it is not";
  return most > 1e-3 ? "" : "it is zero everywhere, which shows nothing: choose other operands";
}

}  // namespace

std::string gradient_fault(const Case& c, double scale) {
  const CaseGraph g = gradient_graph(c);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].dtype() != DType::kFloat64 || c.inputs[i].empty() || c.not_differenced.count(i)) continue;
    const std::string where = c.full_name() + ", input " + g.op->inputs[std::min(i, g.op->inputs.size() - 1)].name + ": ";
    const bool zero = c.zero_gradient.count(i) != 0;
    if (g.d_inputs.at(i) == ir::kNone) {
      if (zero) continue;
      return where + "the rule gives no gradient";
    }
    const InterpretOptions options{Precision::kFloat64, g.symbols};
    const Tensor derived = interpret(g.graph, feeds_of(g, c.inputs), {g.d_inputs[i]}, options)[0];
    if (std::string fault = compare(derived, finite_differences(c, i), scale, zero); !fault.empty()) return where + fault;
    // It is the same when computed alone, without the other inputs' gradients.
    const CaseGraph alone = gradient_graph(c, static_cast<int>(i));
    const Tensor again = interpret(alone.graph, feeds_of(alone, c.inputs), {alone.d_inputs.at(i)}, options)[0];
    if (!same_bits(derived, again)) return where + "it is another one where no other gradient is wanted";
  }
  return "";
}

}  // namespace graphrun::tests
