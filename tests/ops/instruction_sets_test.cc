// Compares the kernels of every instruction set that the binary and this machine have with those chosen by default.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "ops/matmul/blocked.h"
#include "ops/matmul/packed.h"
#include "ops/tiles/table.h"
#include "ops/tiles/tiles.h"
#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using tests::KernelCall;
using tests::run_kernel;

// Restricts kernels to one instruction set during its lifetime.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
  }
  ~OnlyTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;
};

Tensor operand_of(DType dtype, const Sizes& sizes, std::uint32_t state) {
  Tensor t(DType::kFloat64, sizes);
  for (double& x : t.span<double>()) {
    state = state * 1664525u + 1013904223u;
    x = dtype == DType::kBool ? static_cast<double>(state >> 31) : static_cast<double>(state >> 20) / 512;  // 0 … 8
  }
  return t.converted(dtype);
}

struct NamedCall {
  KernelCall call;
  DType dtype;
  Sizes sizes;
};

// One call of every vectorized kernel.
std::vector<NamedCall> calls() {
  std::vector<NamedCall> out;
  const Sizes sizes = {3, 77};
  for (std::size_t l = 0; l < pointwise_table().size(); ++l) {
    const PointwiseLine& line = pointwise_table()[l];
    for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBool}) {
      if (!pointwise_tile(l, dtype)) continue;
      std::vector<Tensor> in;
      for (int k = 0; k < line.arity; ++k) {
        const bool condition = line.arity == 3 && k == 0;
        in.push_back(
            operand_of(condition ? DType::kBool : dtype, k == 1 ? Sizes{77} : sizes, static_cast<std::uint32_t>(k) + 7));
      }
      const bool truth = line.promotion == ir::Promotion::kCompare || line.promotion == ir::Promotion::kLogical;
      out.push_back({{std::string(line.name), in, {}, {}, {}}, truth ? DType::kBool : dtype, sizes});
    }
  }
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    out.push_back({{"matmul", {operand_of(dtype, {7, 9}, 1), operand_of(dtype, {9, 21}, 2)}, {}, {}, {}}, dtype, {7, 21}});
    out.push_back({{"sgd_update",
                    {operand_of(dtype, {99}, 1), operand_of(dtype, {99}, 2), operand_of(dtype, {}, 3), Tensor()},
                    {},
                    {},
                    {}},
                   dtype,
                   {99}});
    out.push_back({{"global_norm", {operand_of(dtype, {99}, 1)}, {}, {}, {}}, dtype, {}});
    KernelCall dropout{"dropout", {operand_of(dtype, {5, 1101}, 1)}, {}, {3, 4, {}}, {}};
    dropout.attributes.set("rate", 0.4);
    out.push_back({dropout, dtype, {5, 1101}});
  }
  return out;
}

TEST(InstructionSets, AgreeWithinRounding) {
  const std::int64_t supported = hwy::SupportedTargets();
  std::vector<Tensor> chosen;
  for (const NamedCall& c : calls()) chosen.push_back(run_kernel(c.call, c.dtype, c.sizes));
  for (std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SCALAR}) {
    if (target != HWY_SCALAR && (supported & target) == 0) continue;
    const OnlyTarget only(target);
    std::size_t i = 0;
    for (const NamedCall& c : calls()) {
      const Tensor y = run_kernel(c.call, c.dtype, c.sizes);
      const Tensor& expected = chosen[i++];
      const double tolerance = c.dtype == DType::kFloat32 ? 1e-6 : c.dtype == DType::kFloat64 ? 1e-14 : 0;
      for (std::int64_t k = 0; k < y.count(); ++k) {
        if (std::isnan(expected.at(k)) || std::isinf(expected.at(k))) {
          ASSERT_EQ(std::isnan(y.at(k)), std::isnan(expected.at(k))) << c.call.op;
          continue;
        }
        ASSERT_NEAR(y.at(k), expected.at(k), tolerance * (1 + std::fabs(expected.at(k))))
            << c.call.op << " " << name_of(c.dtype) << " at " << k << " on " << hwy::TargetName(target);
      }
    }
  }
}

// Runs `work` with every instruction set.
template <class Work>
void for_targets(const Work& work) {
  const std::int64_t supported = hwy::SupportedTargets();
  for (const std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SCALAR}) {
    if (target != HWY_SCALAR && (supported & target) == 0) continue;
    const OnlyTarget only(target);
    SCOPED_TRACE(hwy::TargetName(target));
    work();
  }
}

std::vector<float> packed_result(const MatrixProduct& p, WeightForm form) {
  const Tensor a = operand_of(DType::kFloat32, {p.m, p.k}, 1), b = operand_of(DType::kFloat32, {p.k, p.n}, 2);
  for (float& x : b.span<float>()) x -= 4;
  const PackedProduct packed(p, form);
  Tensor panels(DType::kBool, {static_cast<std::int64_t>(packed.bytes())});
  packed.pack(b.data<float>(), panels.raw(), 0, p.n);
  std::vector<float> c(static_cast<std::size_t>(p.m * p.n), 3);
  packed.multiply(a.data<float>(), panels.raw(), c.data(), 0, p.n);
  return c;
}

// Panels of all widths, and numbers of rows for which one or several are multiplied at once.
TEST(InstructionSets, AgreeOnPackedMatrices) {
  for (const WeightForm form : {WeightForm::kFloat32, WeightForm::kBFloat16, WeightForm::kInt8}) {
    for (const std::int64_t rows : {1, 2, 4, 15}) {
      for (const std::int64_t columns : {5, 16, 50, 200, 500}) {
        for (const bool transposed : {false, true}) {
          for (const bool adds : {false, true}) {
            const MatrixProduct p{rows, columns, 33, false, transposed, adds};
            const std::vector<float> expected = packed_result(p, form);
            for_targets([&] {
              const std::vector<float> found = packed_result(p, form);
              for (std::size_t i = 0; i < found.size(); ++i) {
                ASSERT_NEAR(found[i], expected[i], 1e-5 * (1 + std::fabs(expected[i]))) << rows << " rows, " << columns;
              }
            });
          }
        }
      }
    }
  }
}

// The product, added to `c` if it accumulates, by definition.
std::vector<double> product_of(const MatrixProduct& p, const Tensor& a, const Tensor& b, const std::vector<float>& c) {
  const float *const left = a.data<float>(), *const right = b.data<float>();
  std::vector<double> sums;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = p.accumulate ? c[static_cast<std::size_t>(i * p.n + j)] : 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        sum += static_cast<double>(left[p.transpose_a ? k * p.m + i : i * p.k + k]) *
               static_cast<double>(right[p.transpose_b ? j * p.k + k : k * p.n + j]);
      }
      sums.push_back(sum);
    }
  }
  return sums;
}

// The bits are the same wherever the result is cut into blocks, and with the plain kernel.
TEST(InstructionSets, AgreeOnBlocks) {
  for (const auto& [transpose_a, transpose_b] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
    for (const bool adds : {false, true}) {
      const MatrixProduct p{203, 150, 1037, transpose_a, transpose_b, adds};
      const Tensor a = operand_of(DType::kFloat32, {p.m, p.k}, 1), b = operand_of(DType::kFloat32, {p.k, p.n}, 2);
      for (float& x : b.span<float>()) x -= 4;
      const std::vector<float> start(static_cast<std::size_t>(p.m * p.n), 3);
      const std::vector<double> expected = product_of(p, a, b, start);
      Tensor scratch(DType::kBool, {static_cast<std::int64_t>(block_scratch(p))});
      for_targets([&] {
        std::vector<float> whole = start, parts = start;
        multiply_blocked(p, {0, p.m, 0, p.n}, a.data<float>(), b.data<float>(), whole.data(), scratch.raw());
        for (const auto& [row, rows] : {std::pair<std::int64_t, std::int64_t>{0, 37}, {37, 166}}) {
          for (const auto& [column, columns] : {std::pair<std::int64_t, std::int64_t>{0, 61}, {61, 89}}) {
            multiply_blocked(p, {row, rows, column, columns}, a.data<float>(), b.data<float>(), parts.data(), scratch.raw());
          }
        }
        ASSERT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0);
        std::vector<float> plain = start;
        for (const auto& [column, columns] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 145}}) {
          multiply_plainly(p, {0, p.m, column, columns}, a.data<float>(), b.data<float>(), plain.data());
        }
        ASSERT_EQ(std::memcmp(plain.data(), whole.data(), whole.size() * sizeof(float)), 0);
        for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(whole[i], expected[i], 1e-2);
      });
    }
  }
}

// Scratch space is as large as the product needs, not as the largest one.
TEST(Blocks, NeedLittleScratchForSmallProducts) {
  const MatrixProduct small{96, 64, 64};
  EXPECT_LE(block_scratch(small), 96u * 64 * sizeof(float));
  EXPECT_EQ(scratch_of_block(small, DType::kFloat64), 0u);
  EXPECT_EQ(block_scratch({4000, 4000, 4000}), block_scratch({8000, 8000, 8000}));
}

TEST(InstructionSets, DrawAlike) {
  const std::int64_t supported = hwy::SupportedTargets();
  const auto draw = [] {
    KernelCall mask{"dropout_mask", {Tensor(DType::kFloat32, {5, 1101})}, {}, {3, 4, {}}, {}};
    mask.attributes.set("rate", 0.4);
    return run_kernel(mask, DType::kFloat32, {5, 1101});
  };
  const Tensor chosen = draw();
  for (std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SCALAR}) {
    if (target != HWY_SCALAR && (supported & target) == 0) continue;
    const OnlyTarget only(target);
    const Tensor y = draw();
    EXPECT_EQ(std::memcmp(y.raw(), chosen.raw(), y.bytes()), 0) << hwy::TargetName(target);
  }
}

}  // namespace
}  // namespace graphrun
