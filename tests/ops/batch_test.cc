// A row's results do not depend on the batch that it is in: neither on the other rows nor on padding.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/ops/fixture.h"

namespace graphrun::tests {
namespace {

// The first row's sum over `steps` steps, of which the last have the weight 0 beyond `length`: an attention's context.
std::vector<double> context_of_first(std::int64_t length, std::int64_t steps, std::int64_t rows, std::int64_t width,
                                     Precision precision) {
  std::mt19937 own(7), others(8);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<double> memory(static_cast<std::size_t>(steps * rows * width)), weights(static_cast<std::size_t>(steps * rows));
  std::size_t at = 0;
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const bool counts = r > 0 || t < length;
      std::mt19937& random = r > 0 || !counts ? others : own;
      weights[static_cast<std::size_t>(t * rows + r)] = counts ? draw(random) : 0;
      for (std::int64_t k = 0; k < width; ++k) memory[at++] = draw(random);
    }
  }
  CaseBuilder c("fused_reduction", "");
  c.in(floats({steps, rows, width}, memory)).in(floats({steps, rows, 1}, weights));
  c.with("code", "t0 = mul(x0, x1); return sum(t0)").axes({0});
  const Tensor y = run_forward(c, precision)[0];
  std::vector<double> first;
  for (std::int64_t k = 0; k < width; ++k) first.push_back(y.at(k));
  return first;
}

TEST(Batch, AContextIsTheSameAloneAndWithOthers) {
  constexpr std::int64_t kLength = 17;
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    for (const std::int64_t width : {100, 512, 1000, 2000, 5000}) {
      const std::vector<double> alone = context_of_first(kLength, kLength, 1, width, precision);
      for (const std::int64_t steps : {17, 20, 33, 90}) {
        for (const std::int64_t rows : {1, 2, 3, 7, 20}) {
          EXPECT_EQ(context_of_first(kLength, steps, rows, width, precision), alone)
              << width << " wide, " << steps << " steps, " << rows << " rows";
        }
      }
    }
  }
}

// The first column's results of an op along the first axis of [steps, rows].
std::vector<double> first_column(const std::string& op, std::int64_t steps, std::int64_t rows, bool with_lengths) {
  std::mt19937 own(5), others(6);
  std::uniform_real_distribution<double> draw(-3, 3);
  std::vector<double> x;
  for (std::int64_t k = 0; k < steps * rows; ++k) {
    x.push_back(draw(k % rows == 0 ? own : others));
  }
  // "fused sum": of a pointwise result.
  const bool fused = op.starts_with("fused ");
  CaseBuilder c(fused ? "fused_reduction" : op, "");
  c.in(floats({steps, rows}, x));
  if (fused) c.with("code", "t0 = mul(x0, x0); return " + op.substr(6) + "(t0)");
  op.find("softmax") != std::string::npos ? c.axis(0) : c.axes({0});
  if (with_lengths)
    c.in(integers({rows}, std::vector<std::int32_t>(static_cast<std::size_t>(rows), static_cast<std::int32_t>(steps - 2))));
  const Tensor y = run_forward(c, Precision::kFloat32)[0];
  std::vector<double> first;
  for (std::int64_t k = 0; k < y.count(); k += rows) first.push_back(y.at(k));
  return first;
}

TEST(Batch, AColumnIsTheSameAloneAndWithOthers) {
  for (const std::string op : {"softmax", "log_softmax", "logsumexp", "sum", "mean", "max", "fused sum", "fused mean"}) {
    for (const std::int64_t steps : {3, 17, 33, 100, 255}) {
      for (const bool with_lengths : {false, true}) {
        if (with_lengths && op.starts_with("fused ")) continue;  // these have lengths only for several results each
        const std::vector<double> alone = first_column(op, steps, 1, with_lengths);
        for (const std::int64_t rows : {2, 5, 17, 64, 300}) {
          EXPECT_EQ(first_column(op, steps, rows, with_lengths), alone)
              << op << ", " << steps << " steps, " << rows << " rows" << (with_lengths ? ", lengths" : "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace graphrun::tests
