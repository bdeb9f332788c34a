#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/execute/executable.h"
#include "runtime/program/program.h"
#include "runtime/threads/threads.h"
#include "tests/same_bits.h"

namespace graphrun {
namespace {

using tests::same_bits;
using Init = VariableSpec::Init;

VariableSpec variable(const std::string& name, const Shape& shape, Init init, double amount = 0,
                      DType dtype = DType::kFloat64) {
  VariableSpec spec;
  spec.name = name;
  spec.shape = shape;
  spec.init = init;
  spec.init_amount = amount;
  spec.dtype = dtype;
  return spec;
}

struct Moments {
  double mean = 0, variance = 0, lowest = 1e300, highest = -1e300;
};

Moments moments(const Tensor& t) {
  Moments m;
  const double n = static_cast<double>(t.count());
  for (std::int64_t i = 0; i < t.count(); ++i) {
    const double x = t.at(i);
    m.mean += x / n, m.variance += x * x / n;
    m.lowest = std::min(m.lowest, x), m.highest = std::max(m.highest, x);
  }
  m.variance -= m.mean * m.mean;
  return m;
}

TEST(InitialValue, IsConstant) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBool}) {
    const Tensor t = initial_value(variable("b", {2, 3}, Init::kConstant, 1, dtype), 1);
    EXPECT_EQ(t.dtype(), dtype);
    EXPECT_EQ(t.sizes(), (Sizes{2, 3}));
    for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(t.at(i), 1);
  }
  EXPECT_EQ(initial_value(variable("b", {}, Init::kConstant, -0.5), 1).at(0), -0.5);
}

TEST(InitialValue, IsUniform) {
  const Moments m = moments(initial_value(variable("W", {300, 301}, Init::kUniform, 0.08), 1));
  EXPECT_NEAR(m.mean, 0, 5 * 0.08 / std::sqrt(3 * 90300));
  EXPECT_NEAR(m.variance, 0.08 * 0.08 / 3, 2e-5);
  EXPECT_GE(m.lowest, -0.08);
  EXPECT_LE(m.highest, 0.08);
  EXPECT_NEAR(m.highest - m.lowest, 0.16, 1e-4);
}

TEST(InitialValue, IsNormal) {
  const Tensor t = initial_value(variable("W", {300, 301}, Init::kNormal, 2), 1);
  const Moments m = moments(t);
  EXPECT_NEAR(m.mean, 0, 5 * 2 / std::sqrt(90300));
  EXPECT_NEAR(m.variance, 4, 0.1);
  double within = 0, products = 0;
  for (std::int64_t i = 0; i + 1 < t.count(); i += 2) {
    within += std::abs(t.at(i)) < 2;
    products += t.at(i) * t.at(i + 1);  // the two numbers of a pair are independent
  }
  EXPECT_NEAR(within / 45150, 0.6827, 0.01);
  EXPECT_NEAR(products / 45150 / 4, 0, 0.025);
}

TEST(InitialValue, IsXavier) {
  const Moments m = moments(initial_value(variable("W", {200, 400}, Init::kXavier, 1), 1));
  EXPECT_NEAR(m.highest, std::sqrt(6.0 / 600), 1e-4);
  EXPECT_NEAR(m.lowest, -std::sqrt(6.0 / 600), 1e-4);
}

// The rows, or the columns if there are fewer, are orthonormal.
void expect_orthogonal(const double* q, std::int64_t rows, std::int64_t columns) {
  const bool tall = rows > columns;
  const std::int64_t count = tall ? columns : rows, n = tall ? rows : columns;
  const auto at = [&](std::int64_t v, std::int64_t i) { return tall ? q[i * columns + v] : q[v * columns + i]; };
  for (std::int64_t a = 0; a < count; ++a) {
    for (std::int64_t b = a; b < count; ++b) {
      double sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += at(a, i) * at(b, i);
      ASSERT_NEAR(sum, a == b ? 1 : 0, 1e-10) << a << ", " << b;
    }
  }
}

TEST(InitialValue, IsOrthogonal) {
  const std::vector<std::pair<int, int>> shapes = {{1, 1}, {5, 5}, {70, 70}, {100, 37}, {37, 100}, {0, 3}};
  for (const auto& [rows, columns] : shapes) {
    const Tensor t = initial_value(variable("U", {rows, columns}, Init::kOrthogonal, 1), 3);
    expect_orthogonal(t.data<double>(), rows, columns);
  }
  const Tensor stack = initial_value(variable("U", {3, 8, 8}, Init::kOrthogonal, 1), 3);
  for (int i = 0; i < 3; ++i) expect_orthogonal(stack.data<double>() + 64 * i, 8, 8);
  // Uniform in sign: a fixed sign on the diagonal would be detected.
  int positive = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    positive += initial_value(variable("U", {3, 3}, Init::kOrthogonal, 1), seed).at(8) > 0;
  }
  EXPECT_NEAR(positive, 100, 40);
  EXPECT_THROW(initial_value(variable("b", {7}, Init::kOrthogonal, 1), 3), UserError);
}

TEST(InitialValue, HasTheGain) {
  for (const Init init : {Init::kXavier, Init::kOrthogonal}) {
    const Tensor one = initial_value(variable("W", {20, 30}, init, 1), 1),
                 half = initial_value(variable("W", {20, 30}, init, 0.5), 1);
    for (std::int64_t i = 0; i < one.count(); ++i) ASSERT_EQ(half.at(i), one.at(i) * 0.5);
  }
}

TEST(InitialValue, DependsOnSeedAndNameAlone) {
  const int before = threads();
  for (const Init init : {Init::kUniform, Init::kNormal, Init::kXavier, Init::kOrthogonal}) {
    const VariableSpec w = variable("encode.W", {120, 90}, init, 0.1);
    const Tensor t = initial_value(w, 7);
    EXPECT_TRUE(same_bits(t, initial_value(w, 7)));
    EXPECT_FALSE(same_bits(t, initial_value(w, 8)));
    EXPECT_FALSE(same_bits(t, initial_value(variable("encode.U", {120, 90}, init, 0.1), 7)));
    for (int n = 1; n <= core_count(); ++n) {
      set_threads(n);
      EXPECT_TRUE(same_bits(t, initial_value(w, 7)));
    }
    set_threads(before);
    EXPECT_TRUE(
        same_bits(t.converted(DType::kFloat32), initial_value(variable("encode.W", {120, 90}, init, 0.1, DType::kFloat32), 7)));
  }
}

TEST(Initialize, FillsWhatIsMissing) {
  Program program;
  program.variables = {variable("W", {2, 2}, Init::kUniform, 1), variable("m", {2, 2}, Init::kConstant),
                       variable("kept", {1}, Init::kConstant, 5), variable("s", {Symbol::named("batch"), 2}, Init::kConstant)};
  program.variables[1].kind = VariableSpec::Kind::kSlot;
  program.variables[3].kind = VariableSpec::Kind::kState;
  Variables variables;
  variables.set("kept", Tensor::of<double>({1}, {3}));
  initialize(program, variables, 9);
  EXPECT_EQ(variables.all().size(), 3u);
  EXPECT_TRUE(same_bits(variables.at("W"), initial_value(program.variables[0], 9)));
  EXPECT_EQ(variables.at("m").at(3), 0);
  EXPECT_EQ(variables.at("kept").at(0), 3);
}

}  // namespace
}  // namespace graphrun
