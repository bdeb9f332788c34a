// Every line of the pointwise table against <cmath> for every element type; broadcasting; threads; in-place operation.
#include <gtest/gtest.h>

#include <omp.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include "ops/tiles/table.h"
#include "ops/tiles/tiles.h"
#include "runtime/threads/threads.h"
#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using tests::KernelCall;
using tests::run_kernel;
using tests::run_kernel_into;

// The definition of each op on numbers, for one, two or three operands (the condition first).
using Reference = std::function<double(double, double, double)>;
const std::map<std::string, Reference, std::less<>>& references() {
  static const std::map<std::string, Reference, std::less<>> map = {
      {"add", [](double a, double b, double) { return a + b; }},
      {"sub", [](double a, double b, double) { return a - b; }},
      {"mul", [](double a, double b, double) { return a * b; }},
      {"div", [](double a, double b, double) { return a / b; }},
      {"neg", [](double x, double, double) { return -x; }},
      {"abs", [](double x, double, double) { return std::fabs(x); }},
      {"sign", [](double x, double, double) { return x > 0   ? 1.0
                                                     : x < 0 ? -1.0
                                                             : 0.0; }},
      {"square", [](double x, double, double) { return x * x; }},
      {"floor", [](double x, double, double) { return std::floor(x); }},
      {"minimum", [](double a, double b, double) { return std::fmin(a, b); }},
      {"maximum", [](double a, double b, double) { return std::fmax(a, b); }},
      {"exp", [](double x, double, double) { return std::exp(x); }},
      {"log", [](double x, double, double) { return std::log(x); }},
      {"log1p", [](double x, double, double) { return std::log1p(x); }},
      {"sqrt", [](double x, double, double) { return std::sqrt(x); }},
      {"rsqrt", [](double x, double, double) { return 1 / std::sqrt(x); }},
      {"pow", [](double a, double b, double) { return std::pow(a, b); }},
      {"sin", [](double x, double, double) { return std::sin(x); }},
      {"cos", [](double x, double, double) { return std::cos(x); }},
      {"erf", [](double x, double, double) { return std::erf(x); }},
      {"sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", [](double x, double, double) { return std::tanh(x); }},
      {"relu", [](double x, double, double) { return x > 0 ? x : 0; }},
      {"softplus", [](double x, double, double) { return std::log1p(std::exp(x)); }},
      {"gelu", [](double x, double, double) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
      {"eq", [](double a, double b, double) { return a == b; }},
      {"ne", [](double a, double b, double) { return a != b; }},
      {"lt", [](double a, double b, double) { return a < b; }},
      {"le", [](double a, double b, double) { return a <= b; }},
      {"gt", [](double a, double b, double) { return a > b; }},
      {"ge", [](double a, double b, double) { return a >= b; }},
      {"and", [](double a, double b, double) { return a != 0 && b != 0; }},
      {"or", [](double a, double b, double) { return a != 0 || b != 0; }},
      {"not", [](double x, double, double) { return x == 0; }},
      {"where", [](double c, double a, double b) { return c != 0 ? a : b; }},
  };
  return map;
}

// Numbers of either sign, with repetitions; if `positive`, numbers in every op's domain.
Tensor operand_in_domain(DType dtype, const Sizes& sizes, unsigned seed, bool positive) {
  Tensor t(dtype, sizes);
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (std::int64_t i = 0; i < t.count(); ++i) {
    state = state * 1664525u + 1013904223u;
    const double whole = static_cast<double>(state >> 24) - 128;  // -128 … 127
    const double number = positive ? std::fabs(whole) / 32 + 0.25 : whole / 32;
    switch (dtype) {
      case DType::kFloat32: t.data<float>()[i] = static_cast<float>(number); break;
      case DType::kFloat64: t.data<double>()[i] = number; break;
      case DType::kInt32: t.data<std::int32_t>()[i] = static_cast<std::int32_t>(std::floor(whole / 32)); break;
      case DType::kBool: t.data<std::uint8_t>()[i] = whole < 0; break;
    }
  }
  return t;
}

DType result_of(ir::Promotion promotion, DType dtype) {
  return promotion == ir::Promotion::kCompare || promotion == ir::Promotion::kLogical ? DType::kBool : dtype;
}

// The position in an operand of sizes `sizes` that corresponds to element i of the result.
std::int64_t broadcast_index(const Sizes& result, const Sizes& sizes, std::int64_t i) {
  std::int64_t index = 0, stride = 1;
  for (std::size_t k = 0; k < result.size(); ++k) {
    const std::int64_t size = result[result.size() - 1 - k], at = i % size;
    i /= size;
    if (k >= sizes.size()) continue;
    const std::int64_t own = sizes[sizes.size() - 1 - k];
    index += own == 1 ? 0 : at * stride;
    stride *= own;
  }
  return index;
}

void expect_reference(const PointwiseLine& line, const std::vector<Tensor>& in, const Tensor& y) {
  const Reference& reference = references().at(std::string(line.name));
  const double tolerance = y.dtype() == DType::kFloat32 ? 2e-6 : 1e-14;
  for (std::int64_t i = 0; i < y.count(); ++i) {
    double x[3] = {};
    for (std::size_t k = 0; k < in.size(); ++k) x[k] = in[k].at(broadcast_index(y.sizes(), in[k].sizes(), i));
    const double expected = reference(x[0], x[1], x[2]), found = y.at(i);
    ASSERT_NEAR(found, expected, tolerance * (1 + std::fabs(expected)))
        << line.name << " of " << x[0] << ", " << x[1] << ", " << x[2] << " at " << i << " of " << str(y.sizes()) << " "
        << name_of(y.dtype());
  }
}

std::vector<Tensor> operands(const PointwiseLine& line, DType dtype, const std::vector<Sizes>& sizes) {
  const bool positive = line.name == "log" || line.name == "log1p" || line.name == "sqrt" || line.name == "rsqrt" ||
                        line.name == "pow" || line.name == "div";
  std::vector<Tensor> in;
  for (int k = 0; k < line.arity; ++k) {
    const bool condition = line.arity == 3 && k == 0;
    in.push_back(operand_in_domain(condition ? DType::kBool : dtype, sizes[static_cast<std::size_t>(k) % sizes.size()],
                                   static_cast<unsigned>(k) + 1, positive));
  }
  return in;
}

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBool};

TEST(Pointwise, EveryLineHasAReference) {
  for (const PointwiseLine& line : pointwise_table()) EXPECT_EQ(references().count(line.name), 1u) << line.name;
}

TEST(Pointwise, AgreesWithTheCLibraryForEveryLineTypeAndOddSize) {
  for (std::size_t l = 0; l < pointwise_table().size(); ++l) {
    const PointwiseLine& line = pointwise_table()[l];
    for (DType dtype : kDTypes) {
      if (!pointwise_tile(l, dtype)) continue;
      for (std::int64_t n : {0, 1, 3, 7, 16, 33, 65, 131, 1000}) {
        const std::vector<Tensor> in = operands(line, dtype, {{n}});
        const Tensor y = run_kernel({std::string(line.name), in, {}, {}, {}}, result_of(line.promotion, dtype), {n});
        expect_reference(line, in, y);
      }
    }
  }
}

TEST(Pointwise, BroadcastsEveryPattern) {
  const std::vector<std::pair<Sizes, std::vector<Sizes>>> patterns = {
      {{5, 40}, {{5, 40}, {40}}},    // a bias
      {{5, 40}, {{5, 1}, {1, 40}}},  // an outer sum
      {{5, 40}, {{}, {5, 40}}},      // a number
      {{5, 40}, {{5, 40}, {1, 1}}},
      {{7, 3, 5}, {{7, 3, 1}, {3, 5}}},  // short rows, gathered
      {{7, 3, 5}, {{3, 1}, {7, 1, 5}}},
      {{300, 3, 4}, {{300, 3, 1}, {3, 4}}},  // several gathered pieces
      {{2, 3, 4, 35}, {{3, 1, 35}, {2, 1, 4, 1}}},
      {{1, 6, 1}, {{6, 1}, {1, 1, 1}}},
      {{0, 4}, {{0, 4}, {4}}},
  };
  for (std::size_t l = 0; l < pointwise_table().size(); ++l) {
    const PointwiseLine& line = pointwise_table()[l];
    if (line.arity < 2) continue;
    for (DType dtype : kDTypes) {
      if (!pointwise_tile(l, dtype)) continue;
      for (const auto& [result, sizes] : patterns) {
        for (bool swapped : {false, true}) {
          std::vector<Sizes> order = sizes;
          if (swapped) std::swap(order[0], order[1]);
          if (line.arity == 3) order.push_back(result);
          const std::vector<Tensor> in = operands(line, dtype, order);
          expect_reference(line, in,
                           run_kernel({std::string(line.name), in, {}, {}, {}}, result_of(line.promotion, dtype), result));
        }
      }
    }
  }
}

TEST(Pointwise, BitsDependNeitherOnThreadsNorOnTheRestOfTheTensor) {
  if (core_count() < 2) GTEST_SKIP() << "one core";
  const int before = threads();
  const Sizes sizes = {61, 601};
  for (std::size_t l = 0; l < pointwise_table().size(); ++l) {
    const PointwiseLine& line = pointwise_table()[l];
    for (DType dtype : {DType::kFloat32, DType::kBool}) {
      if (!pointwise_tile(l, dtype)) continue;
      const std::vector<Tensor> in = operands(line, dtype, {sizes, {601}, {61, 1}});
      const KernelCall call{std::string(line.name), in, {}, {}, {}};
      const DType result = result_of(line.promotion, dtype);
      set_threads(1);
      const Tensor one = run_kernel(call, result, sizes);
      set_threads(2);
      const Tensor two = run_kernel(call, result, sizes);
      set_threads(before);
      EXPECT_EQ(std::memcmp(one.raw(), two.raw(), one.bytes()), 0) << line.name;
      // Only the last element.
      std::vector<Tensor> last;
      for (const Tensor& t : in) {
        Tensor e(t.dtype(), {1});
        std::memcpy(e.raw(), static_cast<char*>(t.raw()) + t.bytes() - size_of(t.dtype()), size_of(t.dtype()));
        last.push_back(e);
      }
      const Tensor alone = run_kernel({std::string(line.name), last, {}, {}, {}}, result, {1});
      EXPECT_EQ(std::memcmp(alone.raw(), static_cast<char*>(one.raw()) + one.bytes() - size_of(result), size_of(result)), 0)
          << line.name;
    }
  }
}

TEST(Pointwise, WorksInPlaceWhereTheSchemaSaysSo) {
  for (std::size_t l = 0; l < pointwise_table().size(); ++l) {
    const PointwiseLine& line = pointwise_table()[l];
    const ir::OpSchema& op = ir::OpRegistry::instance().get(line.name);
    const DType dtype = line.promotion == ir::Promotion::kLogical ? DType::kBool : DType::kFloat32;
    for (const auto& [output, input] : op.in_place) {
      const Sizes sizes = {7, 5};
      std::vector<Sizes> order(static_cast<std::size_t>(line.arity), Sizes{7, 1});
      order[static_cast<std::size_t>(input)] = sizes;
      const std::vector<Tensor> in = operands(line, dtype, order);
      const Tensor apart = run_kernel({std::string(line.name), in, {}, {}, {}}, dtype, sizes);
      const Tensor& shared = in[static_cast<std::size_t>(input)];
      run_kernel_into({std::string(line.name), in, {}, {}, {}}, {shared});
      EXPECT_EQ(std::memcmp(apart.raw(), shared.raw(), apart.bytes()), 0) << line.name << " over operand " << input;
    }
  }
}

TEST(Pointwise, SelectionLetsNothingThroughThatWasNotChosen) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const Tensor c = Tensor::of<std::uint8_t>({4}, {1, 0, 1, 0});
  const Tensor a = Tensor::of<float>({4}, {1, nan, 2, infinity}), b = Tensor::of<float>({4}, {nan, 3, -infinity, 4});
  const Tensor y = run_kernel({"where", {c, a, b}, {}, {}, {}}, DType::kFloat32, {4});
  const float expected[] = {1, 3, 2, 4};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y.data<float>()[i], expected[i]);
}

TEST(Pointwise, MinimumAndMaximumKeepWhatIsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"minimum", "maximum"}) {
    const Tensor y = run_kernel({op, {Tensor::of<float>({2}, {nan, 1}), Tensor::of<float>({2}, {1, nan})}, {}, {}, {}},
                                DType::kFloat32, {2});
    EXPECT_TRUE(std::isnan(y.at(0)) && std::isnan(y.at(1))) << op;
  }
}

TEST(Pointwise, WhatIsNotANumberIsUnequalToEverything) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = Tensor::of<float>({2}, {nan, nan}), b = Tensor::of<float>({2}, {nan, 1});
  for (const char* op : {"eq", "lt", "le", "gt", "ge", "ne"}) {
    const Tensor y = run_kernel({op, {a, b}, {}, {}, {}}, DType::kBool, {2});
    for (std::int64_t i = 0; i < 2; ++i) EXPECT_EQ(y.at(i), op == std::string("ne") ? 1 : 0) << op;
  }
}

TEST(Pointwise, IntegersWrap) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const Tensor y = run_kernel({"add", {Tensor::of<std::int32_t>({1}, {most}), Tensor::of<std::int32_t>({1}, {1})}, {}, {}, {}},
                              DType::kInt32, {1});
  EXPECT_EQ(y.data<std::int32_t>()[0], std::numeric_limits<std::int32_t>::min());
}

TEST(Cast, ChangesTypesAsDocumented) {
  const auto cast = [](const Tensor& x, DType to) { return run_kernel({"cast", {x}, {}, {}, {}}, to, x.sizes()); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({7}, {1.9f, -1.9f, 0.f, 1e20f, -1e20f, nan, 2147483648.f});
  const Tensor whole = cast(x, DType::kInt32);
  const std::int32_t lowest = std::numeric_limits<std::int32_t>::min(), highest = std::numeric_limits<std::int32_t>::max();
  const std::int32_t expected[] = {1, -1, 0, highest, lowest, 0, highest};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(whole.data<std::int32_t>()[i], expected[i]) << i;
  const Tensor truth = cast(x, DType::kBool);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(truth.data<std::uint8_t>()[i], i != 2) << i;
  EXPECT_EQ(cast(truth, DType::kFloat64).at(0), 1.0);
  EXPECT_EQ(cast(whole, DType::kFloat32).at(1), -1.0);
}

}  // namespace
}  // namespace graphrun
