// Every case on every kernel: against its reference, in place, on several threads, and with padding that is not finite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <variant>

#include "runtime/threads/threads.h"
#include "tests/ops/fixture.h"
#include "tests/ops/reference.h"
#include "tests/same_bits.h"

namespace graphrun::tests {
namespace {

class KernelTest : public ::testing::TestWithParam<Precision> {};

std::string difference(const Tensor& found, const Array& expected, double tolerance) {
  if (found.sizes() != expected.sizes) return "sizes " + str(found.sizes()) + ", expected " + str(expected.sizes);
  const bool is_float = found.dtype() == DType::kFloat32 || found.dtype() == DType::kFloat64;
  double most = 1e-3;
  for (double e : expected.data) most = std::max(most, std::abs(e));
  for (std::int64_t i = 0; i < found.count(); ++i) {
    const double e = expected.data[static_cast<std::size_t>(i)];
    if (!(std::abs(found.at(i) - e) <= (is_float ? tolerance * most : 0))) {
      return "element " + std::to_string(i) + " is " + std::to_string(found.at(i)) + ", expected " + std::to_string(e);
    }
  }
  return "";
}

TEST_P(KernelTest, AgreesWithTheReference) {
  for (const Case& c : all_cases()) {
    if (c.large && GetParam() == Precision::kFloat64) continue;  // the loops are the same, and the reference is slow
    const std::vector<Array> expected = run_reference(c);
    const std::vector<Tensor> found = run_forward(c, GetParam());
    ASSERT_EQ(found.size(), expected.size()) << c.full_name();
    const double tolerance = GetParam() == Precision::kFloat32 ? c.tolerance32 : c.tolerance64;
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(difference(found[i], expected[i], tolerance), "") << c.full_name() << ", result " << i;
  }
}

TEST_P(KernelTest, GivesTheSameBitsInPlace) {
  for (const Case& c : all_cases()) {
    if (c.large) continue;
    const std::vector<Tensor> apart = run_forward(c, GetParam()), in_place = run_forward(c, GetParam(), true);
    for (std::size_t i = 0; i < apart.size(); ++i) EXPECT_TRUE(same_bits(apart[i], in_place[i])) << c.full_name();
  }
}

TEST_P(KernelTest, GivesTheSameBitsOnOneThreadAndTwo) {
  if (core_count() < 2) GTEST_SKIP() << "one core";
  const int before = threads();
  for (const Case& c : all_cases()) {
    set_threads(1);
    const std::vector<Tensor> one = run_forward(c, GetParam());
    set_threads(2);
    const std::vector<Tensor> two = run_forward(c, GetParam());
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], two[i])) << c.full_name();
  }
  set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Precisions, KernelTest, ::testing::Values(Precision::kFloat32, Precision::kFloat64),
                         [](const auto& info) { return info.param == Precision::kFloat32 ? "Float32" : "Float64"; });

// The padding of a case: the axis and the lengths; no lengths if it has none.
struct PaddingPlace {
  std::size_t axis = 0;
  Tensor lengths;
};

PaddingPlace padding_of(const Case& c, const ir::OpSchema& op) {
  const int lengths = op.input_index("lengths");
  if (lengths < 0 || static_cast<std::size_t>(lengths) >= c.inputs.size() || op.input_index("x") != 0) return {};
  if (c.inputs[0].dtype() != DType::kFloat64) return {};
  std::int64_t axis = op.name == "last" ? 0 : -1;
  for (const auto& [name, value] : c.attributes) {
    if (name != "axis") continue;
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    axis = list ? list->at(0) : std::get<std::int64_t>(value);
  }
  const auto rank = static_cast<std::int64_t>(c.inputs[0].sizes().size());
  return {static_cast<std::size_t>(axis < 0 ? axis + rank : axis), c.inputs[static_cast<std::size_t>(lengths)]};
}

// `x` with NaN at every position at or beyond the lengths.
Tensor spoiled(const Tensor& x, const PaddingPlace& padding) {
  Tensor out = x.clone();
  std::int64_t k = 0;
  for (const Sizes& index : indices_of(x.sizes())) {
    std::int64_t row = 0;
    const Sizes rest = without(index, padding.axis);
    for (std::size_t i = 0; i < padding.lengths.sizes().size(); ++i) row = row * padding.lengths.sizes()[i] + rest[i];
    if (static_cast<double>(index[padding.axis]) >= padding.lengths.at(row)) {
      out.data<double>()[k] = std::numeric_limits<double>::quiet_NaN();
    }
    ++k;
  }
  return out;
}

TEST(Padding, NeverLeaksIntoResultsOrGradients) {
  int cases = 0;
  for (const Case& c : all_cases()) {
    const ir::OpSchema& op = ir::OpRegistry::instance().get(c.op);
    const PaddingPlace padding = padding_of(c, op);
    if (c.large || op.internal || padding.lengths.empty()) continue;
    ++cases;
    Case with_nan = c;
    with_nan.inputs[0] = spoiled(c.inputs[0], padding);
    const std::vector<Tensor> clean = run_forward(c, Precision::kFloat64), found = run_forward(with_nan, Precision::kFloat64);
    for (std::size_t i = 0; i < clean.size(); ++i) EXPECT_TRUE(same_bits(clean[i], found[i])) << c.full_name();
    if (!op.gradient) continue;
    const CaseGraph g = gradient_graph(c);
    const InterpretOptions options{Precision::kFloat64, g.symbols};
    std::map<ir::ValueId, Tensor> feeds = feeds_of(g, c.inputs);
    const Tensor d_clean = interpret(g.graph, feeds, {g.d_inputs[0]}, options)[0];
    feeds = feeds_of(g, with_nan.inputs);
    // If a result has x's positions, its gradient at padded positions must not be read either.
    Tensor& d_result = feeds[g.d_outputs[0]];
    if (d_result.sizes() == c.inputs[0].sizes()) d_result = spoiled(d_result, padding);
    const Tensor d_found = interpret(g.graph, feeds, {g.d_inputs[0]}, options)[0];
    EXPECT_TRUE(same_bits(d_clean, d_found)) << c.full_name() << ": gradient";
  }
  EXPECT_GT(cases, 40);
}

}  // namespace
}  // namespace graphrun::tests
