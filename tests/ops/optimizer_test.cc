// The optimizers' updates against their formulas in double; norms, clipping, the check for finite values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/threads/threads.h"
#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using tests::KernelCall;
using tests::run_kernel;
using tests::run_kernel_into;

Tensor wave(DType dtype, std::int64_t n, double frequency, double offset = 0) {
  Tensor t(DType::kFloat64, {n});
  for (std::int64_t i = 0; i < n; ++i) t.data<double>()[i] = std::sin(frequency * static_cast<double>(i + 1)) + offset;
  return t.converted(dtype);
}
Tensor number(DType dtype, double x) { return Tensor::of<double>({}, {x}).converted(dtype); }

double tolerance(DType dtype) { return dtype == DType::kFloat32 ? 3e-7 : 1e-15; }

TEST(Sgd, FollowsItsFormulaInPlaceAndApart) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const std::int64_t n = 1003;
    const Tensor p = wave(dtype, n, 0.3), g = wave(dtype, n, 0.7), before = p.clone();
    const Tensor apart = run_kernel({"sgd_update", {p, g, number(dtype, 0.25), Tensor()}, {}, {}, {}}, dtype, {n});
    run_kernel_into({"sgd_update", {p, g, number(dtype, 0.5), number(dtype, 0.5)}, {}, {}, {}}, {p});
    EXPECT_EQ(std::memcmp(apart.raw(), p.raw(), p.bytes()), 0);
    for (std::int64_t i = 0; i < n; ++i) ASSERT_NEAR(p.at(i), before.at(i) - 0.25 * g.at(i), tolerance(dtype)) << i;
  }
}

TEST(Adam, FollowsItsFormulaOverSeveralSteps) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const std::int64_t n = 37;
    const Tensor p = wave(dtype, n, 0.3), m(dtype, {n}), v(dtype, {n});
    std::vector<double> rp, rm(static_cast<std::size_t>(n)), rv(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) rp.push_back(p.at(i));
    for (int t = 1; t <= 5; ++t) {
      const Tensor g = wave(dtype, n, 0.7 + t);
      KernelCall call{"adam_update", {p, g, m, v, number(dtype, 0.01), number(dtype, t), number(dtype, 0.5)}, {}, {}, {}};
      call.attributes.set("beta2", 0.99);
      run_kernel_into(call, {p, m, v});
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const double gi = 0.5 * g.at(static_cast<std::int64_t>(i));
        rm[i] = 0.9 * rm[i] + 0.1 * gi;
        rv[i] = 0.99 * rv[i] + 0.01 * gi * gi;
        rp[i] -= 0.01 * (rm[i] / (1 - std::pow(0.9, t))) / (std::sqrt(rv[i] / (1 - std::pow(0.99, t))) + 1e-8);
        const auto at = static_cast<std::int64_t>(i);
        ASSERT_NEAR(m.at(at), rm[i], 5 * tolerance(dtype));
        ASSERT_NEAR(v.at(at), rv[i], 5 * tolerance(dtype));
        ASSERT_NEAR(p.at(at), rp[i], 20 * tolerance(dtype)) << "step " << t << " element " << i;
      }
    }
  }
}

TEST(Adam, BitsDoNotDependOnThreads) {
  if (core_count() < 2) GTEST_SKIP() << "one core";
  const int before = threads();
  const std::int64_t n = 40001;
  const auto run = [&](int count) {
    set_threads(count);
    const DType f = DType::kFloat32;
    const Tensor p = wave(f, n, 0.3), m = wave(f, n, 0.1), v = wave(f, n, 0.2, 1.5);
    run_kernel_into({"adam_update", {p, wave(f, n, 0.7), m, v, number(f, 0.01), number(f, 3), Tensor()}, {}, {}, {}},
                    {p, m, v});
    return p;
  };
  const Tensor one = run(1), two = run(2);
  set_threads(before);
  EXPECT_EQ(std::memcmp(one.raw(), two.raw(), one.bytes()), 0);
}

TEST(GlobalNorm, SumsAllOperandsWhateverTheThreads) {
  const int before = threads();
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const std::vector<Tensor> gs = {wave(dtype, 70001, 0.37), wave(dtype, 5, 1.1), wave(dtype, 9000, 0.9),
                                    Tensor(dtype, {0, 3})};
    double sum = 0;
    for (const Tensor& g : gs) {
      for (std::int64_t i = 0; i < g.count(); ++i) sum += g.at(i) * g.at(i);
    }
    set_threads(1);
    const Tensor one = run_kernel({"global_norm", gs, {}, {}, {}}, dtype, {});
    set_threads(std::min(2, core_count()));
    const Tensor two = run_kernel({"global_norm", gs, {}, {}, {}}, dtype, {});
    set_threads(before);
    EXPECT_EQ(one.at(0), two.at(0));
    EXPECT_NEAR(one.at(0), std::sqrt(sum), 1e-7 * std::sqrt(sum));
  }
}

TEST(GlobalNorm, DoesNotOverflowBelowItsResult) {
  const Tensor g = Tensor::of<float>({2}, {3e30f, 4e30f});
  EXPECT_NEAR(run_kernel({"global_norm", {g}, {}, {}, {}}, DType::kFloat32, {}).at(0), 5e30, 1e24);
}

TEST(AllFinite, FindsOneBadElementAnywhere) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (std::int64_t n : {1, 7, 4096, 10001}) {
      for (double bad : {0.0, static_cast<double>(INFINITY), -static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
        for (std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
          const Tensor g = wave(DType::kFloat64, n, 0.3);
          g.data<double>()[at] = bad;
          const Tensor y = run_kernel({"all_finite", {wave(dtype, 3, 1), g.converted(dtype)}, {}, {}, {}}, DType::kBool, {});
          EXPECT_EQ(y.at(0), std::isfinite(bad) ? 1 : 0) << bad << " at " << at << " of " << n;
        }
      }
    }
    Tensor huge = Tensor::of<double>({2}, {3e38, -3e38});
    EXPECT_EQ(run_kernel({"all_finite", {huge.converted(dtype)}, {}, {}, {}}, DType::kBool, {}).at(0), 1);
  }
}

TEST(ClipScale, IsOneWithinTheLimit) {
  const auto scale = [](double norm) {
    KernelCall call{"clip_scale", {number(DType::kFloat64, norm)}, {}, {}, {}};
    call.attributes.set("limit", 5.0);
    return run_kernel(call, DType::kFloat64, {}).at(0);
  };
  EXPECT_EQ(scale(0), 1);
  EXPECT_EQ(scale(5), 1);
  EXPECT_EQ(scale(10), 0.5);
  EXPECT_TRUE(std::isnan(scale(NAN)));
}

}  // namespace
}  // namespace graphrun
