// Products whose factors the CPU rounds to bfloat16 (product_precision), against float64 sums of rounded factors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ops/matmul/rounded.h"
#include "runtime/base/processor.h"
#include "runtime/threads/threads.h"
#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using tests::KernelCall;
using tests::run_kernel_into;

Tensor random_matrix(const Sizes& sizes, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tensor t(DType::kFloat32, sizes);
  for (float& x : t.span<float>()) x = std::uniform_real_distribution<float>(-1, 1)(random);
  return t;
}

Tensor reshaped(const Tensor& t, const Sizes& sizes) {
  Tensor out(t.dtype(), sizes);
  std::memcpy(out.raw(), t.raw(), t.bytes());
  return out;
}

double to_bfloat16(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double eighth_bit = std::ldexp(1., std::ilogb(x) - 7);
  return std::nearbyint(x / eighth_bit) * eighth_bit;
}

// y [m, n] = Σ op(a) op(b) of rounded factors, where a is [m, k] or, transposed, [k, m].
Tensor rounded_reference(const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b) {
  const std::int64_t k = a.sizes()[transpose_a ? 0 : 1], m = a.sizes()[transpose_a ? 1 : 0], n = b.sizes()[transpose_b ? 0 : 1];
  Tensor y(DType::kFloat64, {m, n});
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t t = 0; t < k; ++t) {
        sum += to_bfloat16(a.at(transpose_a ? t * m + i : i * k + t)) * to_bfloat16(b.at(transpose_b ? j * k + t : t * n + j));
      }
      y.data<double>()[i * n + j] = sum;
    }
  }
  return y;
}

void expect_within(const Tensor& found, const Tensor& expected, double tolerance) {
  ASSERT_EQ(found.count(), expected.count());
  for (std::int64_t i = 0; i < found.count(); ++i) ASSERT_NEAR(found.at(i), expected.at(i), tolerance) << i;
}

Tensor run_rounded(KernelCall call, const Sizes& sizes, ProductPrecision products = ProductPrecision::kBFloat16) {
  call.products = products;
  return tests::run_kernel(call, DType::kFloat32, sizes);
}

class RoundedProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!multiplies_bfloat16()) GTEST_SKIP() << "this processor does not multiply bfloat16";
  }
};

struct Sized {
  std::int64_t m, n, k;
};
// Whole and partial runs of rows, runs of terms and panels; odd numbers of terms.
const Sized kRoundedSizes[] = {{1, 16, 16},    {5, 17, 19},    {32, 48, 64}, {33, 100, 31},
                               {70, 333, 130}, {40, 61, 1500}, {3, 50, 2049}};

TEST_F(RoundedProducts, AreSumsOfRoundedFactors) {
  for (const auto& [m, n, k] : kRoundedSizes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k << (ta ? ", a transposed" : "")
                                          << (tb ? ", b transposed" : ""));
        const Tensor a = random_matrix(ta ? Sizes{k, m} : Sizes{m, k}, 1), b = random_matrix(tb ? Sizes{n, k} : Sizes{k, n}, 2);
        KernelCall call{"matmul", {a, b}, {}, {}, {}};
        call.attributes.set("transpose_a", ta);
        call.attributes.set("transpose_b", tb);
        const Tensor y = run_rounded(call, {m, n}), expected = rounded_reference(a, ta, b, tb);
        ASSERT_NO_FATAL_FAILURE(expect_within(y, expected, 1e-6 * static_cast<double>(k)));
        // The comparison can detect factors that were not rounded.
        const Tensor exact = run_rounded(call, {m, n}, ProductPrecision::kFloat32);
        double off = 0;
        for (std::int64_t i = 0; i < y.count(); ++i) off = std::max(off, std::abs(exact.at(i) - expected.at(i)));
        EXPECT_GT(off, 1e-4);
        EXPECT_EQ(std::memcmp(run_rounded(call, {m, n}, ProductPrecision::kTf32).raw(), exact.raw(), exact.bytes()), 0)
            << "the CPU has no TF32";
      }
    }
  }
}

// Bits depend neither on whether the right factor was rounded before, nor on the number of rows.
TEST_F(RoundedProducts, AreTheSameInBlocksAndRowsWithEachInstructionSet) {
  for (const PairSet set : pair_sets()) {
    for (const std::int64_t panel : {kColumnStep, kMostPanel}) {
      for (const auto& [m, n, k] : kRoundedSizes) {
        SCOPED_TRACE(::testing::Message() << "set " << static_cast<int>(set) << ", panels of " << panel << ", " << m << " x "
                                          << n << " x " << k);
        const Tensor a = random_matrix({m, k}, 1), b = random_matrix({k, n}, 2), y(DType::kFloat32, {m, n}),
                     again(DType::kFloat32, {m, n}), last(DType::kFloat32, {1, n});
        const RoundedProduct all({m, n, k}, panel, set), one({1, n, k}, panel, set);
        ASSERT_TRUE(all.available() && one.available());
        std::vector<BFloat16Bits> left(all.left_bytes() / sizeof(BFloat16Bits)),
            right(all.right_bytes() / sizeof(BFloat16Bits)), scratch(static_cast<std::size_t>(RoundedProduct::scratch()));
        all.round_left(a.data<float>(), left.data(), 0, all.row_runs());
        all.multiply_block(left.data(), b.data<float>(), y.data<float>(), 0, all.row_runs(), 0, all.panels(), scratch.data());
        expect_within(y, rounded_reference(a, false, b, false), 1e-6 * static_cast<double>(k));
        all.round_right(b.data<float>(), right.data(), 0, n);
        all.multiply_rows(a.data<float>(), right.data(), again.data<float>(), 0, n, true);
        EXPECT_EQ(std::memcmp(again.raw(), y.raw(), y.bytes()), 0);
        one.multiply_rows(a.data<float>() + (m - 1) * k, right.data(), last.data<float>(), 0, n, false);
        EXPECT_EQ(std::memcmp(last.raw(), y.data<float>() + (m - 1) * n, last.bytes()), 0);
      }
    }
  }
}

TEST_F(RoundedProducts, AddToWhatIsThereWithEachInstructionSet) {
  const std::int64_t m = 37, n = 61, k = 1100;
  MatrixProduct product{m, n, k};
  product.accumulate = true;
  for (const PairSet set : pair_sets()) {
    SCOPED_TRACE(static_cast<int>(set));
    const Tensor a = random_matrix({m, k}, 1), b = random_matrix({k, n}, 2), y = random_matrix({m, n}, 3);
    const Tensor expected = rounded_reference(a, false, b, false);
    for (std::int64_t i = 0; i < y.count(); ++i) expected.data<double>()[i] += y.at(i);
    const RoundedProduct rounded(product, kMostPanel, set);
    std::vector<BFloat16Bits> right(rounded.right_bytes() / sizeof(BFloat16Bits));
    rounded.round_right(b.data<float>(), right.data(), 0, n);
    rounded.multiply_rows(a.data<float>(), right.data(), y.data<float>(), 0, n, false);
    expect_within(y, expected, 1e-3);
  }
}

TEST_F(RoundedProducts, OfStacksAndOfSeveralFactors) {
  const std::int64_t time = 7, batch = 5, k = 37, n = 53;
  const Tensor rows = random_matrix({time, batch, k}, 3), others = random_matrix({time, batch, n}, 4);
  const Tensor flat = reshaped(rows, {time * batch, k}), flat_others = reshaped(others, {time * batch, n});
  expect_within(run_rounded({"matmul_reduce", {rows, others}, {}, {}, {}}, {k, n}),
                rounded_reference(flat, true, flat_others, false), 1e-4);

  const Tensor b = random_matrix({k, n}, 5), c = random_matrix({k, n}, 6);
  const std::vector<Tensor> y = {Tensor(DType::kFloat32, {time, batch, n}), Tensor(DType::kFloat32, {time, batch, n})};
  KernelCall many{"matmul_many", {rows, b, c}, {}, {}, {}, ProductPrecision::kBFloat16};
  run_kernel_into(many, y);
  expect_within(y[0], rounded_reference(flat, false, b, false), 1e-4);
  expect_within(y[1], rounded_reference(flat, false, c, false), 1e-4);

  const Tensor more = random_matrix({time, batch, 21}, 7), d = random_matrix({n, 21}, 8), e = random_matrix({n, k}, 9);
  KernelCall sum{"matmul_sum", {rows, e, more, d}, {}, {}, {}};
  sum.attributes.set("transpose_b", true);
  const Tensor first = rounded_reference(flat, false, e, true),
               second = rounded_reference(reshaped(more, {time * batch, 21}), false, d, true);
  for (std::int64_t i = 0; i < first.count(); ++i) first.data<double>()[i] += second.at(i);
  expect_within(run_rounded(sum, {time, batch, n}), first, 1e-4);
}

// A sum's products are all rounded, however few terms one of them has.
TEST_F(RoundedProducts, OfASumAreAllRounded) {
  for (const std::int64_t k : {1, 10, 1500}) {
    const Tensor a = random_matrix({9, k}, 1), b = random_matrix({k, 40}, 2), c = random_matrix({9, 200}, 3),
                 d = random_matrix({200, 40}, 4);
    const Tensor first = rounded_reference(a, false, b, false), second = rounded_reference(c, false, d, false);
    for (std::int64_t i = 0; i < first.count(); ++i) first.data<double>()[i] += second.at(i);
    expect_within(run_rounded({"matmul_sum", {a, b, c, d}, {}, {}, {}}, {9, 40}), first, 1e-3);
    expect_within(run_rounded({"matmul", {a, b}, {}, {}, {}}, {9, 40}), rounded_reference(a, false, b, false), 1e-3);
  }
}

// Whatever the form of constant matrices: int8 if all of a group's can have it.
TEST_F(RoundedProducts, HaveOneFormInALoopAndWithoutOne) {
  const auto form = [](WeightForm weights, std::vector<bool> lasting) {
    const Tensor x(DType::kFloat32, {9, 10}), w(DType::kFloat32, {10, 40}), h(DType::kFloat32, {9, 50}),
        u(DType::kFloat32, {50, 40}), y(DType::kFloat32, {9, 40});
    Attributes attributes;
    attributes.set("transpose_b", false);
    KernelRequest request;
    request.attributes = &attributes;
    request.inputs = {x.view(), w.view(), h.view(), u.view()};
    request.outputs = {y.view()};
    request.absent_inputs.assign(4, false);
    request.constant_inputs = {false, true, false, true};
    request.lasting_inputs = std::move(lasting);
    request.weights = weights;
    request.products = ProductPrecision::kBFloat16;
    const Kernel kernel = (*cpu_device().kernels().find("matmul_sum"))(request);
    EXPECT_GT(kernel.workspace, 0u) << "by itself it does not round";
    const std::vector<std::int64_t> layout = kernel.by_columns->layout;
    return std::pair(static_cast<WeightForm>(layout.at(4)), layout.at(5) == 1);
  };
  const std::pair pairs(WeightForm::kBFloat16, true);
  EXPECT_EQ(form(WeightForm::kFloat32, {false, true, false, true}), pairs);
  EXPECT_EQ(form(WeightForm::kBFloat16, {false, true, false, true}), pairs);
  EXPECT_EQ(form(WeightForm::kInt8, {false, true, false, false}), pairs);
  EXPECT_EQ(form(WeightForm::kInt8, {false, true, false, true}), std::pair(WeightForm::kInt8, false));
}

TEST_F(RoundedProducts, AreTheSameForAnyNumberOfThreads) {
  if (core_count() == 1) GTEST_SKIP() << "there is one core";
  const int before = threads();
  const Tensor a = random_matrix({300, 1100}, 1), b = random_matrix({1100, 430}, 2);
  std::vector<Tensor> found;
  for (const int n : {1, core_count()}) {
    set_threads(n);
    found.push_back(run_rounded({"matmul", {a, b}, {}, {}, {}}, {300, 430}));
  }
  set_threads(before);
  EXPECT_EQ(std::memcmp(found[0].raw(), found[1].raw(), found[0].bytes()), 0);
}

TEST_F(RoundedProducts, OfNothingAreZeros) {
  const Tensor y =
      run_rounded({"matmul", {Tensor(DType::kFloat32, {20, 0}), Tensor(DType::kFloat32, {0, 30})}, {}, {}, {}}, {20, 30});
  for (std::int64_t i = 0; i < y.count(); ++i) ASSERT_EQ(y.at(i), 0);
  EXPECT_EQ(
      run_rounded({"matmul", {Tensor(DType::kFloat32, {0, 20}), random_matrix({20, 30}, 1)}, {}, {}, {}}, {0, 30}).count(), 0);
}

// Products with few columns, and products with one matrix per batch element.
TEST_F(RoundedProducts, AreNotMadeWhereNothingIsWonByThem) {
  const auto exact = [](const KernelCall& call, const Sizes& sizes) {
    return std::memcmp(run_rounded(call, sizes).raw(), run_rounded(call, sizes, ProductPrecision::kFloat32).raw(),
                       static_cast<std::size_t>(element_count(sizes)) * sizeof(float)) == 0;
  };
  EXPECT_TRUE(exact({"matmul", {random_matrix({40, 30}, 1), random_matrix({30, 15}, 2)}, {}, {}, {}}, {40, 15}));
  EXPECT_TRUE(exact({"matmul", {random_matrix({40, 30}, 1), random_matrix({30}, 2)}, {}, {}, {}}, {40}));
  EXPECT_TRUE(exact({"matmul", {random_matrix({2, 9, 30}, 1), random_matrix({2, 30, 20}, 2)}, {}, {}, {}}, {2, 9, 20}));
  EXPECT_TRUE(exact({"matmul", {random_matrix({1, 9, 30}, 1), random_matrix({1, 30, 20}, 2)}, {}, {}, {}}, {1, 9, 20}))
      << "rounding depends on the size of the batch";
  EXPECT_FALSE(exact({"matmul", {random_matrix({40, 30}, 1), random_matrix({30, 16}, 2)}, {}, {}, {}}, {40, 16}));
}

// A NaN stays NaN, in its own row or column only.
TEST_F(RoundedProducts, KeepApartWhatIsNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = random_matrix({3, 17}, 1), b = random_matrix({17, 20}, 2);
  a.data<float>()[16] = nan;           // row 0
  a.data<float>()[17] = 3e38f;         // row 1: finite, also after rounding
  b.data<float>()[5] = infinity;       // column 5
  b.data<float>()[16 * 20 + 7] = nan;  // column 7
  const Tensor y = run_rounded({"matmul", {a, b}, {}, {}, {}}, {3, 20});
  for (std::int64_t j = 0; j < 20; ++j) {
    EXPECT_TRUE(std::isnan(y.at(j)));
    EXPECT_EQ(std::isfinite(y.at(20 + j)), j != 5 && j != 7) << j;
    EXPECT_EQ(std::isfinite(y.at(40 + j)), j != 5 && j != 7) << j;
  }
  EXPECT_TRUE(std::isnan(y.at(47)));
}

}  // namespace
}  // namespace graphrun
