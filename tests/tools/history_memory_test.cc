// Histories hold their steps, and zeros after them, whatever their memory held before.
#include "tools/generate/history_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace graphrun {
namespace {

// A history [capacity, 2, rows, 3] as a list of numbers.
struct Expected {
  std::int64_t capacity = 0, rows = 0, steps = 0;
  std::vector<float> written;  // [steps, 2, rows, 3]

  Expected selected(const std::vector<std::int64_t>& from) const {
    Expected next{capacity, static_cast<std::int64_t>(from.size()), steps, {}};
    for (std::int64_t block = 0; block < 2 * steps; ++block) {
      for (const std::int64_t row : from) {
        for (std::int64_t k = 0; k < 3; ++k) {
          next.written.push_back(written[static_cast<std::size_t>((block * rows + row) * 3 + k)]);
        }
      }
    }
    return next;
  }
};

void expect_holds(const Tensor& history, const Expected& expected) {
  ASSERT_EQ(history.sizes(), (Sizes{expected.capacity, 2, expected.rows, 3}));
  for (std::int64_t i = 0; i < history.count(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    ASSERT_EQ(history.at(i), k < expected.written.size() ? static_cast<double>(expected.written[k]) : 0.0) << "element " << i;
  }
}

TEST(HistoryMemory, HoldsTheStepsOfItsRowsAndZeros) {
  std::mt19937 random(5);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n)); };
  Tensor spare;
  int reused = 0;
  for (int search = 0; search < 40; ++search) {
    Expected expected{1 + below(4), 1 + below(6), 0, {}};
    const void* const before = spare.empty() ? nullptr : spare.raw();
    Tensor history = begin_history(std::exchange(spare, {}), DType::kFloat32, {expected.capacity, 2, expected.rows, 3});
    reused += before != nullptr && history.raw() == before;
    expect_holds(history, expected);
    for (int step = 0; step < 12; ++step) {
      if (expected.steps == expected.capacity) {
        expected.capacity += 1 + below(5);
        history = grow_history(std::move(history), expected.steps, expected.capacity);
        expect_holds(history, expected);
      }
      for (std::int64_t k = 0; k < 6 * expected.rows; ++k) {
        const auto number = static_cast<float>(1 + random() % 1000);
        history.data<float>()[static_cast<std::int64_t>(expected.written.size())] = number;
        expected.written.push_back(number);
      }
      ++expected.steps;
      std::vector<std::int64_t> rows(static_cast<std::size_t>(1 + below(step == 0 ? 9 : expected.rows)));
      for (std::int64_t& row : rows) row = below(expected.rows);
      expected = expected.selected(rows);
      history = history_with_rows(std::move(history), 2, rows, expected.steps);
      expect_holds(history, expected);
      if (HasFatalFailure()) return;
    }
    spare = std::move(history);
  }
  EXPECT_GT(reused, 20);
}

TEST(HistoryMemory, LeavesAloneWhatIsShared) {
  const Tensor history = begin_history({}, DType::kFloat32, {2, 3});
  history.data<float>()[0] = 7;
  EXPECT_NE(begin_history(history, DType::kFloat32, {2, 3}).raw(), history.raw());
  EXPECT_NE(grow_history(history, 1, 3).raw(), history.raw());
  EXPECT_NE(history_with_rows(history, 1, {1}, 1).raw(), history.raw());
  EXPECT_EQ(history.at(0), 7);
}

// So much that threads divide the bytes of each row, and go through their part in several pieces.
TEST(HistoryMemory, SelectsLongRowsOnThreads) {
  constexpr std::int64_t kRows = 40, kWidth = 1003, kSteps = 5;
  for (const std::int64_t count : {7, 60}) {
    Tensor history = begin_history({}, DType::kFloat32, {2 * kSteps, 60, kWidth});
    history = history_with_rows(std::move(history), 1, std::vector<std::int64_t>(kRows), 0);
    for (std::int64_t i = 0; i < kSteps * kRows * kWidth; ++i) history.data<float>()[i] = static_cast<float>(i);
    std::vector<std::int64_t> rows;
    for (std::int64_t r = 0; r < count; ++r) rows.push_back(r * 11 % kRows);
    const void* const memory = history.raw();
    history = history_with_rows(std::move(history), 1, rows, kSteps);
    EXPECT_EQ(history.raw(), memory);
    std::vector<float> expected;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      for (const std::int64_t row : rows) {
        for (std::int64_t k = 0; k < kWidth; ++k) expected.push_back(static_cast<float>((t * kRows + row) * kWidth + k));
      }
    }
    expected.resize(static_cast<std::size_t>(2 * kSteps * count * kWidth));
    const auto found = history.span<float>();
    EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
  }
}

}  // namespace
}  // namespace graphrun
