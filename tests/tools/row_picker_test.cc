// Rows that are picked in their memory are those that a copy has.
#include "tools/generate/row_picker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/device/device.h"
#include "tools/generate/settings.h"

namespace graphrun {
namespace {

const Symbol kRows = Symbol::named("rows"), kSteps = Symbol::named("steps");

// States [rows, 3], a history [steps, rows, 2], one whose rows come second, and the word.
std::vector<GenerationGraphs::Carried> carried() {
  return {{"h", {Type::kFloat, {Dim(kRows), Dim(3)}}, 0},
          {"cache", {Type::kFloat, {Dim(kSteps), Dim(kRows), Dim(2)}}, 1, true},
          {"second", {Type::kInt32, {Dim(2), Dim(kRows)}}, 1},
          {kWordInput, {Type::kInt32, {Dim(kRows)}}, 0},
          {"whole", {Type::kFloat, {Dim(2)}}, -1}};
}

Tensor numbered(DType dtype, Sizes sizes) {
  Tensor t(DType::kFloat64, std::move(sizes));
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<double>()[i] = static_cast<double>(i);
  return t.converted(dtype);
}

std::vector<Tensor> values(std::int64_t rows, std::int64_t steps) {
  return {numbered(DType::kFloat32, {rows, 3}), numbered(DType::kFloat32, {steps, rows, 2}), numbered(DType::kInt32, {2, rows}),
          numbered(DType::kInt32, {rows}), numbered(DType::kFloat32, {2})};
}

Tensor listed(const std::vector<std::int32_t>& numbers) {
  return Tensor::of<std::int32_t>({static_cast<std::int64_t>(numbers.size())}, numbers);
}

std::vector<double> elements(const Tensor& t) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < t.count(); ++i) all.push_back(t.at(i));
  return all;
}

GenerationGraphs of_sizes() { return {{}, {}, {}, {}, kRows, {kSteps}, {}, ""}; }

// Rows that stay, that several follow, and that follow one another in circles.
TEST(RowPicker, MovesInPlaceWhatACopyHas) {
  std::mt19937 random(7);
  const auto what = carried();
  for (int round = 0; round < 200; ++round) {
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random()) % 9, steps = 5, kept = 1 + round % 5;
    std::vector<std::int32_t> parents;
    for (std::int64_t r = 0; r < rows; ++r)
      parents.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(random()) % rows));
    if (round % 3 == 0) {
      for (std::int64_t r = 0; r < rows; ++r) parents[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(r);
      std::shuffle(parents.begin(), parents.end(), random);
    }
    std::vector<std::int32_t> own(static_cast<std::size_t>(rows));
    std::iota(own.begin(), own.end(), 0);
    RowPicker picker(of_sizes(), what, cpu_device(), true);
    const std::vector<Tensor> shared = values(rows, steps);
    std::vector<Tensor> given = values(rows, steps);
    const void* const memory = given[1].raw();
    const std::vector<Tensor> copied = picker.pick(shared, listed(own), listed(parents), kept);
    const std::vector<Tensor> moved = picker.pick(std::move(given), listed(own), listed(parents), kept);
    EXPECT_EQ(moved[1].raw(), memory);
    for (const std::size_t k : {0, 2, 3, 4}) EXPECT_EQ(elements(moved[k]), elements(copied[k])) << k;
    for (std::int64_t i = 0; i < kept * rows * 2; ++i) EXPECT_EQ(moved[1].at(i), copied[1].at(i));
    for (std::int64_t r = 0; r < rows; ++r) {
      EXPECT_EQ(moved[0].at(r * 3), static_cast<double>(parents[static_cast<std::size_t>(r)] * 3));
      EXPECT_EQ(moved[3].at(r), static_cast<double>(r));
    }
    EXPECT_EQ(elements(shared[0]), elements(values(rows, steps)[0]));  // what others hold is left alone
  }
}

TEST(RowPicker, LeavesRowsOut) {
  RowPicker picker(of_sizes(), carried(), cpu_device(), true);
  const std::vector<Tensor> picked = picker.pick(values(4, 3), listed({3, 1}), listed({0, 0, 2, 2}), 3);
  EXPECT_EQ(elements(picked[0]), (std::vector<double>{6, 7, 8, 0, 1, 2}));
  EXPECT_EQ(elements(picked[1]), (std::vector<double>{4, 5, 0, 1, 12, 13, 8, 9, 20, 21, 16, 17}));
  EXPECT_EQ(elements(picked[2]), (std::vector<double>{2, 0, 6, 4}));
  EXPECT_EQ(elements(picked[3]), (std::vector<double>{3, 1}));
}

}  // namespace
}  // namespace graphrun
