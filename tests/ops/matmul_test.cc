// matmul and matmul_reduce against three nested loops, over shapes, transposes, batches and vectors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/ir/builder.h"
#include "ops/matmul/product.h"
#include "runtime/threads/threads.h"
#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using tests::KernelCall;
using tests::run_kernel;
using tests::sample;

struct Case {
  Sizes a, b, y;
  bool transpose_a = false, transpose_b = false;
};

Attributes flags(const Case& c) {
  Attributes attributes;
  attributes.set("transpose_a", c.transpose_a);
  attributes.set("transpose_b", c.transpose_b);
  return attributes;
}

// The result, computed by definition.
std::vector<double> reference(const Case& c, const Tensor& a, const Tensor& b) {
  Sizes as = c.a, bs = c.b, ys = c.y;
  if (as.size() == 1) as.insert(as.begin(), 1), ys.insert(ys.end() - (bs.size() == 1 ? 0 : 1), 1);
  if (bs.size() == 1) bs.push_back(1), ys.push_back(1);
  const std::int64_t n = ys[ys.size() - 2], m = ys.back(), k = as[as.size() - (c.transpose_a ? 2 : 1)];
  std::vector<double> y;
  const std::int64_t batch = n * m == 0 ? 0 : element_count(ys) / (n * m);
  for (std::int64_t s = 0; s < batch; ++s) {
    const auto matrix = [&](const Sizes& own) {
      std::int64_t rest = s, index = 0, step = 1;
      for (std::size_t i = 3; i <= ys.size(); ++i) {
        const std::int64_t size = ys[ys.size() - i], at = rest % size;
        rest /= size;
        if (i > own.size()) continue;
        const std::int64_t mine = own[own.size() - i];
        index += mine == 1 ? 0 : at * step;
        step *= mine;
      }
      return index;
    };
    const std::int64_t a0 = matrix(as) * n * k, b0 = matrix(bs) * k * m;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < m; ++j) {
        double sum = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          sum += a.at(a0 + (c.transpose_a ? q * n + i : i * k + q)) * b.at(b0 + (c.transpose_b ? j * k + q : q * m + j));
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

void expect_product(const Case& c, DType dtype) {
  const Tensor a = sample(dtype, c.a, 1), b = sample(dtype, c.b, 2);
  const Tensor y = run_kernel({"matmul", {a, b}, flags(c), {}, {}}, dtype, c.y);
  const std::vector<double> expected = reference(c, a, b);
  ASSERT_EQ(static_cast<std::size_t>(y.count()), expected.size());
  const double tolerance = (dtype == DType::kFloat32 ? 3e-6 : 1e-14) * std::sqrt(static_cast<double>(c.a.back()) + 1);
  for (std::int64_t i = 0; i < y.count(); ++i) {
    ASSERT_NEAR(y.at(i), expected[static_cast<std::size_t>(i)],
                tolerance * (1 + std::fabs(expected[static_cast<std::size_t>(i)])))
        << str(c.a) << " @ " << str(c.b) << " at " << i << " " << name_of(dtype);
  }
}

TEST(Matmul, AgreesWithThreeLoopsForAllShapesAndTransposes) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const auto& [n, k, m] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                          {3, 5, 7},
                                                                          {4, 4, 4},
                                                                          {20, 65, 33},
                                                                          {130, 17, 40},
                                                                          {9, 300, 35},
                                                                          {5, 1, 6},
                                                                          {0, 3, 4},
                                                                          {3, 0, 4},
                                                                          {3, 4, 0}}) {
      expect_product({{n, k}, {k, m}, {n, m}, false, false}, dtype);
      expect_product({{k, n}, {k, m}, {n, m}, true, false}, dtype);
      expect_product({{n, k}, {m, k}, {n, m}, false, true}, dtype);
      expect_product({{k, n}, {m, k}, {n, m}, true, true}, dtype);
    }
  }
}

// More rows, columns and terms than are multiplied at once.
TEST(Matmul, AgreesWithThreeLoopsForLargeFactors) {
  expect_product({{100, 1030}, {1030, 700}, {100, 700}, false, false}, DType::kFloat32);
  expect_product({{200, 1030}, {100, 1030}, {200, 100}, false, true}, DType::kFloat32);
  expect_product({{1030, 390}, {1030, 397}, {390, 397}, true, false}, DType::kFloat32);
  expect_product({{70, 390}, {390, 70}, {390, 390}, true, true}, DType::kFloat32);
}

TEST(Matmul, BroadcastsOverBatches) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    expect_product({{6, 5, 3, 4}, {4, 7}, {6, 5, 3, 7}}, dtype);  // one matrix for the whole batch
    expect_product({{5, 3, 4}, {7, 4}, {5, 3, 7}, false, true}, dtype);
    expect_product({{5, 4, 3}, {4, 7}, {5, 3, 7}, true, false}, dtype);  // cannot be flattened: a is transposed
    expect_product({{5, 3, 4}, {5, 4, 7}, {5, 3, 7}}, dtype);
    expect_product({{5, 3, 30}, {5, 70, 30}, {5, 3, 70}, false, true}, dtype);
    expect_product({{2, 1, 3, 4}, {5, 4, 2}, {2, 5, 3, 2}}, dtype);
    expect_product({{3, 4}, {5, 4, 2}, {5, 3, 2}}, dtype);
    expect_product({{1, 3, 4}, {5, 2, 4}, {5, 3, 2}, false, true}, dtype);
    expect_product({{0, 3, 4}, {4, 2}, {0, 3, 2}}, dtype);
  }
}

TEST(Matmul, TakesVectorsAsRowsAndColumns) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    expect_product({{4}, {4}, {}}, dtype);
    expect_product({{4}, {4, 3}, {3}}, dtype);
    expect_product({{4}, {3, 4}, {3}, false, true}, dtype);
    expect_product({{4}, {5, 4, 3}, {5, 3}}, dtype);
    expect_product({{5, 4}, {4}, {5}}, dtype);
    expect_product({{2, 5, 4}, {4}, {2, 5}}, dtype);
    expect_product({{2, 4, 5}, {4}, {2, 5}, true, false}, dtype);
  }
}

TEST(Matmul, ReduceSumsOverAllRows) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Tensor a = sample(dtype, {6, 5, 9}, 1), b = sample(dtype, {6, 5, 4}, 2);
    const Tensor y = run_kernel({"matmul_reduce", {a, b}, {}, {}, {}}, dtype, {9, 4});
    const std::vector<double> expected = reference({{30, 9}, {30, 4}, {9, 4}, true, false}, a, b);
    for (std::int64_t i = 0; i < y.count(); ++i) EXPECT_NEAR(y.at(i), expected[static_cast<std::size_t>(i)], 1e-4);
  }
}

TEST(Matmul, BitsDoNotDependOnThreads) {
  if (core_count() < 2) GTEST_SKIP() << "one core";
  const int before = threads();
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const Case& c : {Case{{70, 300}, {300, 130}, {70, 130}}, Case{{4000, 30}, {4000, 40}, {30, 40}, true, false},
                          Case{{40, 9, 50}, {40, 50, 20}, {40, 9, 20}}, Case{{33, 64}, {500, 64}, {33, 500}, false, true},
                          Case{{300, 70}, {70, 500}, {300, 500}}, Case{{200, 400}, {200, 500}, {400, 500}, true, false}}) {
      const KernelCall call{"matmul", {sample(dtype, c.a, 1), sample(dtype, c.b, 2)}, flags(c), {}, {}};
      set_threads(1);
      const Tensor one = run_kernel(call, dtype, c.y);
      set_threads(2);
      const Tensor two = run_kernel(call, dtype, c.y);
      set_threads(before);
      EXPECT_EQ(std::memcmp(one.raw(), two.raw(), one.bytes()), 0) << str(c.a) << " @ " << str(c.b);
    }
  }
}

TEST(Matmul, GridsCoverTheResultOnce) {
  for (const MatrixProduct& p :
       {MatrixProduct{700, 10000, 650}, MatrixProduct{20, 650, 650}, MatrixProduct{650, 10000, 700},
        MatrixProduct{3, 100000, 40}, MatrixProduct{100000, 3, 40}, MatrixProduct{1, 1, 10000000}, MatrixProduct{7, 5, 3}}) {
    const ProductGrid grid(p);
    std::int64_t elements = 0;
    for (std::int64_t i = 0; i < grid.blocks(); ++i) {
      const ProductBlock block = grid.block(p, i);
      elements += block.rows * block.columns;
      EXPECT_GE(block.rows, 0);
      EXPECT_LE(block.row + block.rows, p.m);
      EXPECT_LE(block.column + block.columns, p.n);
    }
    EXPECT_EQ(elements, p.m * p.n);
  }
}

TEST(Matmul, InfersSymbolicShapesAndSaysWhatDoesNotFit) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const Dim time = Symbol::named("time"), batch = Symbol::named("batch");
  const auto input = [&](const Shape& shape) { return builder.input("x", {Type::kFloat, shape}); };
  const auto shape = [&](const Shape& a, const Shape& b) {
    return graph.type(builder.op("matmul", {input(a), input(b)})).shape;
  };
  EXPECT_EQ(shape({time, batch, 3}, {3, 4}), (Shape{time, batch, 4}));
  EXPECT_EQ(shape({batch, time, 3}, {batch, 3, 4}), (Shape{batch, time, 4}));
  EXPECT_EQ(shape({batch, 3}, {3}), (Shape{batch}));
  EXPECT_EQ(shape({3}, {3}), (Shape{}));
  EXPECT_THROW(shape({batch, 3}, {4, 4}), ir::OpError);
  EXPECT_THROW(shape({batch, 2, 3}, {time, 3, 4}), ir::OpError);
  EXPECT_THROW(shape({}, {3, 4}), ir::OpError);
  try {
    shape({batch, 3}, {4, 5});
  } catch (const ir::OpError& e) {
    EXPECT_NE(std::string(e.what()).find("the summed sizes are 3 and 4"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace graphrun
