// The float32 functions against the C library in double, over a dense sample of all floats.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using tests::run_kernel;

struct Function {
  const char* op;
  double (*exact)(double);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

// The distance in units in the last place of `exact` rounded to float; 0 if both are NaN or the same infinity.
double distance(float found, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(found) || std::isnan(rounded)) return std::isnan(found) && std::isnan(rounded) ? 0 : 1e30;
  if (std::isinf(found) || std::isinf(rounded)) return found == rounded ? 0 : 1e30;
  const float size = std::abs(rounded);
  const double ulp = size < std::numeric_limits<float>::min()
                         ? std::numeric_limits<float>::denorm_min()
                         : static_cast<double>(std::nextafter(size, std::numeric_limits<float>::infinity())) - size;
  return std::abs(static_cast<double>(found) - exact) / (std::isinf(ulp) ? std::ldexp(1.0, 104) : ulp);
}

class PointwiseFunctions : public ::testing::TestWithParam<Function> {};

TEST_P(PointwiseFunctions, AreWithinFourUnitsInTheLastPlaceOverAllFloats) {
  constexpr std::uint64_t kStride = 6007;  // odd: covers every kind of mantissa
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += kStride)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  // Densely around the boundaries of polynomials, and where results saturate.
  for (double at : {0.0, 0.3466, 0.625, 0.7071, 0.9277, 1.0, 1.4142, 2.0, 4.0, 9.0, 16.6, 87.3, 88.7, 103.9}) {
    for (int i = -500; i <= 500; ++i) {
      x.push_back(static_cast<float>(at * (1 + i * 1e-6)));
      x.push_back(-x.back());
    }
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (float special :
       {0.f, -0.f, 1.f, -1.f, infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
        std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()}) {
    x.push_back(special);
  }
  const auto n = static_cast<std::int64_t>(x.size());
  const Tensor y = run_kernel({GetParam().op, {Tensor::of<float>({n}, x)}, {}, {}, {}}, DType::kFloat32, {n});
  double worst = 0;
  float at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = distance(y.data<float>()[i], GetParam().exact(static_cast<double>(x[i])));
    if (d > worst) worst = d, at = x[i];
  }
  EXPECT_LE(worst, 4.0) << GetParam().op << " at " << at;
  RecordProperty("worst_ulp", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(Float32, PointwiseFunctions,
                         ::testing::Values(Function{"exp", std::exp}, Function{"log", std::log}, Function{"log1p", std::log1p},
                                           Function{"tanh", std::tanh}, Function{"sigmoid", sigmoid},
                                           Function{"softplus", softplus}, Function{"erf", std::erf}),
                         [](const auto& info) { return std::string(info.param.op); });

TEST(PointwiseFunctionsEdges, SaturateExactly) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto at = [](const char* op, float x) {
    return run_kernel({op, {Tensor::of<float>({1}, {x})}, {}, {}, {}}, DType::kFloat32, {1}).data<float>()[0];
  };
  EXPECT_EQ(at("tanh", 20.f), 1.f);
  EXPECT_EQ(at("tanh", -infinity), -1.f);
  EXPECT_EQ(at("sigmoid", infinity), 1.f);
  EXPECT_EQ(at("sigmoid", -infinity), 0.f);
  EXPECT_EQ(at("exp", -infinity), 0.f);
  EXPECT_EQ(at("exp", 1000.f), infinity);
  EXPECT_EQ(at("log", 0.f), -infinity);
  EXPECT_TRUE(std::isnan(at("log", -1.f)));
  EXPECT_TRUE(std::isnan(at("relu", std::numeric_limits<float>::quiet_NaN())));  // divergence must not be hidden
  EXPECT_TRUE(std::signbit(at("tanh", -0.f)));
}

}  // namespace
}  // namespace graphrun
