// Infinities and NaNs in real elements, not padding: they must propagate.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/ops/fixture.h"

namespace graphrun::tests {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> results(const Case& c, Precision precision) {
  const Tensor y = run_forward(c, precision)[0];
  std::vector<double> out;
  for (std::int64_t i = 0; i < y.count(); ++i) out.push_back(y.at(i));
  return out;
}

// The same three numbers as a row and as columns next to rows of ones, in vectors and in remainders.
class NonFinite : public ::testing::TestWithParam<Precision> {
 protected:
  std::vector<double> row(const std::string& op, const std::vector<double>& x, bool takes_list) {
    CaseBuilder c(op, "");
    c.in(floats({1, static_cast<std::int64_t>(x.size())}, x));
    takes_list ? c.axes({1}) : c.axis(1);
    return results(c, GetParam());
  }
  // The middle one of 21 columns.
  std::vector<double> column(const std::string& op, const std::vector<double>& x, bool takes_list) {
    const auto n = static_cast<std::int64_t>(x.size());
    std::vector<double> all(static_cast<std::size_t>(n * 21), 1.0);
    for (std::size_t a = 0; a < x.size(); ++a) all[a * 21 + 17] = x[a];
    CaseBuilder c(op, "");
    c.in(floats({n, 21}, all));
    takes_list ? c.axes({0}) : c.axis(0);
    const std::vector<double> y = results(c, GetParam());
    std::vector<double> out;
    for (std::size_t i = 17; i < y.size(); i += 21) out.push_back(y[i]);
    return out;
  }
};

TEST_P(NonFinite, ANaNReachesTheResult) {
  std::vector<double> x(21, 0.5);
  x[3] = kNaN;
  for (const char* op : {"sum", "mean", "max", "min", "logsumexp"}) {
    EXPECT_TRUE(std::isnan(row(op, x, true)[0])) << op;
    EXPECT_TRUE(std::isnan(column(op, x, true)[0])) << op;
  }
  for (const char* op : {"softmax", "log_softmax"}) {
    for (double y : row(op, x, false)) EXPECT_TRUE(std::isnan(y)) << op;
    for (double y : column(op, x, false)) EXPECT_TRUE(std::isnan(y)) << op;
  }
  for (const char* op : {"argmax", "argmin"}) {
    EXPECT_EQ(row(op, x, false)[0], 3) << op;
    EXPECT_EQ(column(op, x, false)[0], 3) << op;
  }
}

// A NaN in a position that does not count leaves its column and the others unchanged.
TEST_P(NonFinite, ANaNBeyondTheLengthIsNotSeen) {
  constexpr std::int64_t kWidth = 45;
  std::vector<double> x;
  std::vector<std::int32_t> lengths;
  for (std::int64_t i = 0; i < 4 * kWidth; ++i) x.push_back(i / kWidth == 1 ? 2 : 1);
  for (std::int64_t i = 0; i < kWidth; ++i) lengths.push_back(i == 20 ? 2 : 4);
  x[3 * kWidth + 20] = x[2 * kWidth + 30] = kNaN;
  const std::vector<double> y =
      results(CaseBuilder("argmax", "").in(floats({4, kWidth}, x)).in(integers({kWidth}, lengths)).axis(0), GetParam());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i == 30 ? 2 : 1) << i;
}

TEST_P(NonFinite, APositionAndItsValueAgree) {
  const std::vector<double> x = {1, kNaN, 3, -kInfinity, kNaN, 5, 4, -kInfinity, 2, 2, 2, -kInfinity};
  const auto places = [&](const std::string& folds) {
    return run_forward(CaseBuilder("fused_reduction", "")
                           .in(floats({3, 4}, x))
                           .in(floats({3, 4}, std::vector<double>(12, 0.0)))
                           .with("code", "t0 = add(x0, x1); return " + folds)
                           .axes({0}),
                       GetParam());
  };
  const auto numbers = [](const Tensor& t) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < t.count(); ++i) all.push_back(t.at(i));
    return all;
  };
  const std::vector<Tensor> most = places("argmax(t0), max(t0), argmax(t0)");
  EXPECT_EQ(numbers(most[0]), (std::vector<double>{1, 0, 1, 0}));
  EXPECT_EQ(numbers(most[2]), numbers(most[0]));
  EXPECT_TRUE(std::isnan(most[1].at(0)) && std::isnan(most[1].at(1)));
  EXPECT_EQ(most[1].at(2), 4);
  EXPECT_EQ(most[1].at(3), -kInfinity);
  const std::vector<Tensor> least = places("min(t0), argmin(t0)");
  EXPECT_EQ(numbers(least[1]), (std::vector<double>{1, 0, 2, 0}));
  EXPECT_TRUE(std::isnan(least[0].at(0)) && std::isnan(least[0].at(1)));
  EXPECT_EQ(least[0].at(2), 2);
}

TEST_P(NonFinite, AnImpossibleElementHasNoWeight) {
  for (const std::vector<double>& y :
       {row("softmax", {0, -kInfinity, 0}, false), column("softmax", {0, -kInfinity, 0}, false)}) {
    EXPECT_DOUBLE_EQ(y[0], 0.5);
    EXPECT_EQ(y[1], 0);
  }
  EXPECT_NEAR(row("logsumexp", {0, -kInfinity, 0}, true)[0], std::log(2.0), 1e-6);
}

TEST_P(NonFinite, WhereEverythingIsImpossible) {
  const std::vector<double> x(3, -kInfinity);
  for (double y : row("softmax", x, false)) EXPECT_EQ(y, 0);
  for (double y : column("softmax", x, false)) EXPECT_EQ(y, 0);
  EXPECT_EQ(row("logsumexp", x, true)[0], -kInfinity);
  EXPECT_EQ(column("logsumexp", x, true)[0], -kInfinity);
  EXPECT_EQ(row("max", x, true)[0], -kInfinity);
}

TEST_P(NonFinite, RowsWithoutGradientTakeNoneFromLogitsThatAreNaN) {
  const Case c = CaseBuilder("cross_entropy_gradient", "")
                     .in(floats({2, 3}, {kNaN, kNaN, kNaN, 0, 1, 2}))
                     .in(integers({2}, {0, 1}))
                     .in(floats({2}, {kNaN, 1.4076059644443806}))
                     .in(floats({2}, {0, 1}));
  const std::vector<double> d = results(c, GetParam());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(d[i], 0);
  EXPECT_NEAR(d[5], 0.6652409557748219, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Precisions, NonFinite, ::testing::Values(Precision::kFloat32, Precision::kFloat64),
                         [](const auto& info) { return info.param == Precision::kFloat32 ? "Float32" : "Float64"; });

}  // namespace
}  // namespace graphrun::tests
