// CUDA's kernels compared with the CPU's: every case of every op, in float32 and float64, in separate memory and in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "ops/reduce/column.h"
#include "runtime/program/kernel.h"
#include "tests/cuda/device.h"
#include "tests/ops/fixture.h"
#include "tests/same_bits.h"
#include "tests/sanitized.h"

namespace graphrun::tests {
namespace {

std::vector<Tensor> run_on(const Device& device, const Case& c, Precision precision, bool in_place) {
  const CaseGraph g = forward_graph(c);
  return interpret(g.graph, feeds_of(g, c.inputs), g.outputs, {precision, g.symbols, in_place, &device});
}

std::string difference(const Tensor& found, const Tensor& expected, double tolerance) {
  if (found.sizes() != expected.sizes() || found.dtype() != expected.dtype()) return "another type or size";
  const bool is_float = found.dtype() == DType::kFloat32 || found.dtype() == DType::kFloat64;
  double most = 1e-3;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    if (std::isfinite(expected.at(i))) most = std::max(most, std::abs(expected.at(i)));
  }
  for (std::int64_t i = 0; i < found.count(); ++i) {
    const double a = found.at(i), b = expected.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::abs(a - b) <= (is_float ? tolerance * most : 0))) {
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", on the CPU " + std::to_string(b);
    }
  }
  return "";
}

class CudaKernels : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override { tested_device(); }
  void TearDown() override {
    if (is_emulated()) emulate_backwards(false);
  }
};

// Large cases in float32, because the loops are the same in float64, and without sanitizers, which take long.
TEST_P(CudaKernels, GiveWhatTheCpuGives) {
  for (const Case& c : all_cases()) {
    if (c.large && (GetParam() == Precision::kFloat64 || saves_time())) continue;
    const double tolerance = GetParam() == Precision::kFloat32 ? c.tolerance32 : c.tolerance64;
    const std::vector<Tensor> expected = run_on(cpu_device(), c, GetParam(), false);
    for (bool in_place : {false, true}) {
      if (in_place && c.large) continue;
      const std::vector<Tensor> found = run_on(tests::tested_device(), c, GetParam(), in_place);
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(difference(found[i], expected[i], tolerance), "")
            << c.full_name() << ", result " << i << (in_place ? ", in place" : "");
      }
    }
  }
}

// There is a barrier between a write and a read by another thread; otherwise the result would depend on the order of threads.
TEST_P(CudaKernels, DependOnNoOrderOfThreads) {
  if (!is_emulated())
    GTEST_SKIP() << "a GPU schedules its threads itself; only the emulated device runs them in a chosen order";
  for (const Case& c : all_cases()) {
    if (c.large) continue;
    emulate_backwards(false);
    const std::vector<Tensor> forwards = run_on(tests::tested_device(), c, GetParam(), true);
    emulate_backwards(true);
    const std::vector<Tensor> backwards = run_on(tests::tested_device(), c, GetParam(), true);
    for (std::size_t i = 0; i < forwards.size(); ++i) EXPECT_TRUE(same_bits(forwards[i], backwards[i])) << c.full_name();
  }
}

// Rows long enough for blocks of more threads, few and many; with equal elements, NaN, and the largest elements where one
// thread of a block looks.
enum class Spread { kMixed, kEqual, kNaN, kInOneShare };

Tensor long_rows(std::int64_t rows, std::int64_t n, Spread spread, bool integers) {
  Tensor x(integers ? DType::kInt32 : DType::kFloat32, {rows, n});
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::int64_t at = i % n, mixed = (i * 7919 + 13) % 1009;
    double value = static_cast<double>(spread == Spread::kEqual ? mixed % 3 : mixed);
    if (spread == Spread::kInOneShare && at % ColumnGrid::kMostThreads == 5) value = 2000 + static_cast<double>(at % 7);
    if (spread == Spread::kNaN && mixed % 100 != 0) value = std::numeric_limits<double>::quiet_NaN();
    integers ? void(x.data<std::int32_t>()[i] = static_cast<std::int32_t>(value))
             : void(x.data<float>()[i] = static_cast<float>(value) * 0.01F);
  }
  return x;
}

TEST_P(CudaKernels, FindTheLargestOfLongRows) {
  using Size = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [rows, n] : few_of(std::vector<Size>{{1, 10007}, {3, 5000}, {520, 1100}}, 1)) {
    for (const Spread spread : {Spread::kMixed, Spread::kEqual, Spread::kNaN, Spread::kInOneShare}) {
      for (const bool integers : {false, true}) {
        if (integers && spread == Spread::kNaN) continue;
        const Tensor x = long_rows(rows, n, spread, integers);
        for (const std::int64_t k : few_of(std::vector<std::int64_t>{65, 40, 1}, 1)) {
          if (rows > 100 && (k > 1 || spread != Spread::kEqual)) continue;
          const Case c = CaseBuilder("topk", "long").in(x).with("k", k);
          const std::vector<Tensor> expected = run_on(cpu_device(), c, GetParam(), false);
          const std::vector<Tensor> found = run_on(tests::tested_device(), c, GetParam(), false);
          const std::string what = std::to_string(rows) + " rows of " + std::to_string(n) + ", the " + std::to_string(k) +
                                   " greatest, spread " + std::to_string(static_cast<int>(spread));
          EXPECT_EQ(difference(found[0], expected[0], 0), "") << what;
          EXPECT_EQ(difference(found[1], expected[1], 0), "") << what;
        }
        for (const char* op : {"argmax", "argmin"}) {
          const Case c = CaseBuilder(op, "long").in(x).axis(1);
          EXPECT_EQ(difference(run_on(tests::tested_device(), c, GetParam(), false)[0],
                               run_on(cpu_device(), c, GetParam(), false)[0], 0),
                    "")
              << op << " of " << rows << " rows";
        }
      }
    }
  }
}

TEST_P(CudaKernels, ReduceLongRows) {
  const double tolerance = GetParam() == Precision::kFloat32 ? 1e-5 : 1e-12;
  for (const std::int64_t rows : {1, 3}) {
    const Tensor x = long_rows(rows, 10007, Spread::kMixed, false);
    std::vector<Case> cases;
    for (const char* op : {"logsumexp", "sum", "mean", "max", "min"}) cases.push_back(CaseBuilder(op, "long").in(x).axes({1}));
    for (const char* op : {"softmax", "log_softmax"}) cases.push_back(CaseBuilder(op, "long").in(x).axis(1));
    for (const Case& c : cases) {
      for (const bool backwards : {false, true}) {
        if (is_emulated()) emulate_backwards(backwards);
        EXPECT_EQ(difference(run_on(tests::tested_device(), c, GetParam(), false)[0],
                             run_on(cpu_device(), c, GetParam(), false)[0], tolerance),
                  "")
            << c.full_name();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaKernels, ::testing::Values(Precision::kFloat32, Precision::kFloat64),
                         [](const auto& info) { return info.param == Precision::kFloat32 ? "Float32" : "Float64"; });

TEST(CudaRegistry, HasAKernelOfEveryOp) {
  tested_device();
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
    if (op->view || op->name == "scan" || op->family == "test") continue;
    EXPECT_NE(tested_device().kernels().find(op->name), nullptr) << op->name << ": add it to a .cu beside its file";
  }
}

}  // namespace
}  // namespace graphrun::tests
