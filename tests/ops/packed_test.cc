// Products with packed matrices against sums in float64.
#include "ops/matmul/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/processor.h"
#include "runtime/program/kernel.h"

namespace graphrun {
namespace {

std::vector<float> numbers(std::int64_t n, std::uint32_t seed) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    out.push_back(static_cast<float>(seed >> 20) / 2048 - 1);
  }
  return out;
}

// The product, computed in column ranges with these ends. `back`: each from its last panel to its first.
std::vector<float> run_packed(const PackedProduct& packed, const MatrixProduct& p, const std::vector<float>& a,
                              const std::vector<float>& b, const std::vector<std::int64_t>& ends, bool back = false) {
  std::vector<char> panels(packed.bytes());
  std::vector<float> c(static_cast<std::size_t>(p.m * p.n), p.accumulate ? 0.5f : -7);
  std::int64_t begin = 0;
  for (std::int64_t end : ends) {
    packed.pack(b.data(), panels.data(), begin, end);
    begin = end;
  }
  begin = 0;
  for (std::int64_t end : ends) {
    packed.multiply(a.data(), panels.data(), c.data(), begin, end, back);
    begin = end;
  }
  return c;
}

float rounded_to_bfloat16(float x) {
  if (x == 0) return 0;
  const float eighth_bit = std::ldexp(1.f, std::ilogb(x) - 7);
  return std::nearbyint(x / eighth_bit) * eighth_bit;
}

// b, rounded as in the form.
std::vector<float> rounded_as(const MatrixProduct& p, std::vector<float> b, WeightForm form) {
  const auto at = [&](std::int64_t i, std::int64_t j) -> float& {
    return b[static_cast<std::size_t>(p.transpose_b ? j * p.k + i : i * p.n + j)];
  };
  for (std::int64_t j = 0; j < p.n; ++j) {
    float most = 0;
    for (std::int64_t i = 0; i < p.k; ++i) most = std::max(most, std::abs(at(i, j)));
    const float step = most / 127;
    for (std::int64_t i = 0; i < p.k; ++i) {
      float& x = at(i, j);
      if (form == WeightForm::kInt8) x = step == 0 ? 0 : std::nearbyint(x / step) * step;
      if (form == WeightForm::kBFloat16) x = rounded_to_bfloat16(x);
    }
  }
  return b;
}

// Each row of a [m, k] as int8 with a scale of its own.
std::vector<float> quantized_rows(const MatrixProduct& p, std::vector<float> a) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    float* const row = a.data() + i * p.k;
    float most = 0;
    for (std::int64_t k = 0; k < p.k; ++k) most = std::max(most, std::abs(row[k]));
    for (std::int64_t k = 0; k < p.k && most > 0; ++k) row[k] = std::nearbyint(row[k] * (127 / most)) * (most / 127);
  }
  return a;
}

int checked = 0;

void check_product(const MatrixProduct& p, PackedForm form) {
  const PackedProduct packed(p, form);
  if (!packed.available()) return;  // for these sizes, or on this machine
  ++checked;
  const std::vector<float> a = numbers(p.m * p.k, 1), b = numbers(p.n * p.k, 2), near = rounded_as(p, b, form.matrix);
  std::vector<float> rows = a;
  if (form.pairs) std::transform(a.begin(), a.end(), rows.begin(), rounded_to_bfloat16);
  if (form.matrix == WeightForm::kInt8) rows = quantized_rows(p, a);
  std::vector<std::vector<std::int64_t>> cuts = {{p.n}};
  for (std::int64_t at = packed.panel(); at < p.n; at += packed.panel()) cuts.push_back({at, p.n});
  const std::vector<float> whole = run_packed(packed, p, a, b, cuts[0]);
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = p.accumulate ? 0.5 : 0, size = 1;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const double term = static_cast<double>(rows[static_cast<std::size_t>(i * p.k + k)]) *
                            near[static_cast<std::size_t>(p.transpose_b ? j * p.k + k : k * p.n + j)];
        sum += term, size += std::abs(term);
      }
      ASSERT_NEAR(whole[static_cast<std::size_t>(i * p.n + j)], sum, 1e-6 * size) << i << ", " << j;
    }
  }
  EXPECT_EQ(run_packed(packed, p, a, b, cuts[0], true), whole) << "another result from the last panel to the first";
  for (const std::vector<std::int64_t>& cut : cuts) {
    EXPECT_EQ(std::memcmp(run_packed(packed, p, a, b, cut).data(), whole.data(), whole.size() * sizeof(float)), 0)
        << "another result where the columns are cut at " << cut[0];
  }
}

std::string name_of(PackedForm form) {
  if (form.pairs) return "pairs";
  return form.matrix == WeightForm::kFloat32 ? "float32" : form.matrix == WeightForm::kBFloat16 ? "bfloat16" : "int8";
}

class Packed : public testing::TestWithParam<PackedForm> {};

TEST_P(Packed, IsTheProductWhereverItsColumnsAreCut) {
  checked = 0;
  for (const bool transposed : {false, true}) {
    for (const auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                 {3, 16, 5},
                                 {20, 50, 7},
                                 {7, 48, 33},
                                 {20, 130, 64},
                                 {1, 95, 40},
                                 {33, 31, 1},
                                 {128, 100, 19},
                                 {300, 70, 19},
                                 {2, 300, 40},
                                 {9, 500, 32},
                                 {3, 40, 40},
                                 {2, 50, 2051},
                                 {140, 60, 2051}}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
      check_product({m, n, k, false, transposed}, GetParam());
      check_product({m, n, k, false, transposed, true}, GetParam());
    }
  }
  if (GetParam().pairs && !multiplies_bfloat16()) GTEST_SKIP() << "this processor does not multiply bfloat16";
  EXPECT_TRUE(GetParam().pairs ? checked > 6 : checked == 4 * 14) << checked;
}

INSTANTIATE_TEST_SUITE_P(Forms, Packed,
                         testing::Values(PackedForm(), PackedForm(WeightForm::kBFloat16), PackedForm(WeightForm::kInt8),
                                         PackedForm::of_pairs()),
                         [](const auto& info) { return name_of(info.param); });

TEST(PackedProduct, HoldsAMatrixInTheBytesOfItsForm) {
  const MatrixProduct p{1, 1000, 500};
  EXPECT_EQ(PackedProduct(p).bytes(), 1008 * 500 * 4u);
  EXPECT_EQ(PackedProduct(p, WeightForm::kBFloat16).bytes(), 1008 * 500 * 2u);
  EXPECT_EQ(PackedProduct(p, WeightForm::kInt8).bytes(), 1008 * 512 + 1008 * 8u);
}

// A NaN stays NaN, in its own column only; zeros stay zeros.
TEST(PackedProduct, ColumnsStayApart) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const MatrixProduct p{1, 4, 3};
  for (const WeightForm form : {WeightForm::kFloat32, WeightForm::kBFloat16, WeightForm::kInt8}) {
    const PackedProduct packed(p, form);
    const std::vector<float> c = run_packed(packed, p, {1, 1, 1}, {1, nan, infinity, 0, 2, 1, 1, 0, 4, 1, 1, 0}, {4});
    EXPECT_NEAR(c[0], 7, 4. / 127);
    EXPECT_TRUE(std::isnan(c[1]));
    EXPECT_FALSE(std::isfinite(c[2]));
    EXPECT_EQ(c[3], 0);
  }
}

// A row's result has the same bits in any batch, and a NaN spoils no other row: in int8, each row is rounded on its own.
void check_rows(std::int64_t columns, WeightForm form) {
  constexpr std::int64_t kTerms = 33;
  const MatrixProduct many{70, columns, kTerms};
  std::vector<float> a = numbers(many.m * many.k, 1);
  const std::vector<float> b = numbers(many.n * many.k, 2);
  a[3 * kTerms + 7] = std::numeric_limits<float>::quiet_NaN();
  a[5 * kTerms + 32] = std::numeric_limits<float>::infinity();
  std::fill_n(a.begin() + 9 * kTerms, kTerms, 0.F);
  const std::vector<float> all = run_packed(PackedProduct(many, form), many, a, b, {columns});
  for (const std::int64_t together : {1, 2, 3, 5, 7, 10}) {
    const MatrixProduct few{together, columns, kTerms};
    for (std::int64_t first = 0; first + together <= many.m; first += together) {
      const std::vector<float> rows(a.begin() + first * kTerms, a.begin() + (first + together) * kTerms);
      const std::vector<float> alone = run_packed(PackedProduct(few, form), few, rows, b, {columns});
      for (std::size_t i = 0; i < alone.size(); ++i) {
        const std::int64_t row = first + static_cast<std::int64_t>(i) / columns;
        const float x = all[static_cast<std::size_t>(first * columns) + i];
        if (row == 3 || row == 5) {
          ASSERT_TRUE(row == 3 || form == WeightForm::kInt8 ? std::isnan(x) : !std::isfinite(x)) << row;
        } else {
          ASSERT_EQ(x, alone[i]) << row << " of " << together << " rows";
          ASSERT_TRUE(row != 9 || x == 0);
        }
      }
    }
  }
}
TEST(PackedProduct, RowsStayApart) {
  for (const WeightForm form : {WeightForm::kFloat32, WeightForm::kBFloat16, WeightForm::kInt8}) {
    for (const std::int64_t columns : {130, 300, 500}) {
      SCOPED_TRACE(name_of(form) + ", " + std::to_string(columns) + " columns");
      check_rows(columns, form);
    }
  }
}

// The largest magnitudes there are, over as many terms as sums have room for; with more there is no code.
TEST(PackedProduct, QuantizedSumsDoNotOverflow) {
  for (const std::int64_t k : {std::int64_t{4096}, kMostInt8Terms}) {
    const MatrixProduct p{2, 16, k};
    std::vector<float> a(static_cast<std::size_t>(2 * k), 1), b(static_cast<std::size_t>(16 * k), -1);
    std::fill_n(a.begin(), k, -1.F);
    const std::vector<float> c = run_packed(PackedProduct(p, WeightForm::kInt8), p, a, b, {16});
    for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], i < 16 ? k : -k, 1e-6 * static_cast<double>(k));
  }
  EXPECT_FALSE(PackedProduct({1, 16, kMostInt8Terms + 1}, WeightForm::kInt8).available());
}

// Every count of rows at a time, panels of all widths; -127 against -127 is the largest that pairs of int16 hold.
TEST(PackedProduct, EveryInstructionSetGivesTheSameSums) {
  for (const std::int64_t count : {1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 47, 50, 64}) {
    for (const std::int64_t width : {16, 32, 48}) {
      for (const std::int64_t quads : {16, 32, 112}) {
        std::vector<std::uint8_t> rows(static_cast<std::size_t>(count * quads * kInt8Quad));
        std::vector<std::int8_t> columns(static_cast<std::size_t>(quads * width * kInt8Quad));
        std::uint32_t seed = 3;
        const auto draw = [&] { return (seed = seed * 1664525u + 1013904223u) >> 16; };
        for (auto& x : rows) x = static_cast<std::uint8_t>(draw() % 4 == 0 ? (draw() % 2 == 0 ? 1 : 255) : 1 + draw() % 255);
        for (auto& x : columns)
          x = static_cast<std::int8_t>(draw() % 4 == 0 ? (draw() % 2 == 0 ? -127 : 127) : draw() % 255 - 127);
        std::vector<std::int32_t> offsets(static_cast<std::size_t>(width)), expected(static_cast<std::size_t>(count * width));
        for (std::int64_t j = 0; j < width; ++j) {
          for (std::int64_t k = 0; k < quads * kInt8Quad; ++k) {
            const std::int32_t w = columns[static_cast<std::size_t>((k / kInt8Quad * width + j) * kInt8Quad + k % kInt8Quad)];
            offsets[static_cast<std::size_t>(j)] -= kInt8Zero * w;
            for (std::int64_t i = 0; i < count; ++i) {
              expected[static_cast<std::size_t>(i * width + j)] +=
                  (rows[static_cast<std::size_t>(i * quads * kInt8Quad + k)] - kInt8Zero) * w;
            }
          }
        }
        Int8Panel panel;
        panel.rows = rows.data(), panel.columns = columns.data(), panel.offsets = offsets.data();
        panel.count = count, panel.quads = quads, panel.width = width;
        for (const Int8Set set : int8_sets()) {
          std::vector<std::int32_t> sums(expected.size(), -7);
          multiply_int8(panel, sums.data(), set);
          EXPECT_EQ(sums, expected) << count << " rows, width " << width << ", " << quads << " quads, set " << int(set);
        }
      }
    }
  }
}

TEST(PackedProduct, HasNoCodeForWhatItCannotDo) {
  EXPECT_FALSE(PackedProduct({0, 4, 4}).available());
  EXPECT_FALSE(PackedProduct({4, 4, 0}).available());
  EXPECT_FALSE(PackedProduct({4, 4, 4, true, false}).available());
}

}  // namespace
}  // namespace graphrun
