// CUDA's kernels compared with the CPU's: every case of every op, in float32 and float64, in separate memory and in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/program/kernel.h"
#include "tests/cuda/device.h"
#include "tests/ops/fixture.h"
#include "tests/same_bits.h"

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

TEST_P(CudaKernels, GiveWhatTheCpuGives) {
  for (const Case& c : all_cases()) {
    if (c.large && GetParam() == Precision::kFloat64) continue;  // the loops are the same
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
