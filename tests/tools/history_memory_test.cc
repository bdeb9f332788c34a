// Histories that stay in their memory hold what histories in fresh memory hold.
#include "tools/generate/history_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace graphrun {
namespace {

// A history [capacity, 2, rows, 3] as a list of numbers.
struct Model {
  std::int64_t capacity = 0, rows = 0, steps = 0;
  std::vector<float> written;  // [steps, 2, rows, 3]

  Model selected(const std::vector<std::int64_t>& from) const {
    Model next{capacity, static_cast<std::int64_t>(from.size()), steps, {}};
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

void expect_holds(const Tensor& history, const Model& model) {
  ASSERT_EQ(history.sizes(), (Sizes{model.capacity, 2, model.rows, 3}));
  for (std::int64_t i = 0; i < history.count(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    ASSERT_EQ(history.at(i), k < model.written.size() ? static_cast<double>(model.written[k]) : 0.0) << "element " << i;
  }
}

TEST(HistoryMemory, HoldsTheStepsOfItsRowsAndZeros) {
  std::mt19937 random(5);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n)); };
  Tensor spare;
  int reused = 0;
  for (int search = 0; search < 40; ++search) {
    Model model{1 + below(4), 1 + below(6), 0, {}};
    const void* const before = spare.empty() ? nullptr : spare.raw();
    Tensor history = begin_history(std::exchange(spare, {}), DType::kFloat32, {model.capacity, 2, model.rows, 3});
    reused += before != nullptr && history.raw() == before;
    expect_holds(history, model);
    for (int step = 0; step < 12; ++step) {
      if (model.steps == model.capacity) {
        model.capacity += 1 + below(5);
        history = grow_history(std::move(history), model.steps, model.capacity);
        expect_holds(history, model);
      }
      for (std::int64_t k = 0; k < 6 * model.rows; ++k) {
        const auto number = static_cast<float>(1 + random() % 1000);
        history.data<float>()[static_cast<std::int64_t>(model.written.size())] = number;
        model.written.push_back(number);
      }
      ++model.steps;
      std::vector<std::int64_t> rows(static_cast<std::size_t>(1 + below(step == 0 ? 9 : model.rows)));
      for (std::int64_t& row : rows) row = below(model.rows);
      model = model.selected(rows);
      history = history_with_rows(std::move(history), 2, rows, model.steps);
      expect_holds(history, model);
      if (HasFatalFailure()) return;
    }
    spare = std::move(history);
  }
  EXPECT_GT(reused, 20);
}

TEST(HistoryMemory, LeavesAloneWhatIsShared) {
  const Tensor history = begin_history({}, DType::kFloat32, {2, 3});
  history.data<float>()[0] = 7;
  EXPECT_NE(grow_history(history, 1, 3).raw(), history.raw());
  EXPECT_NE(history_with_rows(history, 1, {1}, 1).raw(), history.raw());
  const std::vector<Tensor> owners(2, history);
  EXPECT_NE(begin_history(owners[0], DType::kFloat32, {2, 3}).raw(), history.raw());
  EXPECT_EQ(history.at(0), 7);
}

// Rows longer than what one thread copies at once.
TEST(HistoryMemory, SelectsLongRowsOnThreads) {
  constexpr std::int64_t kRows = 40, kWidth = 1000, kSteps = 5;
  for (const std::int64_t count : {7, 60}) {
    Tensor history = begin_history({}, DType::kFloat32, {2 * kSteps, 60, kWidth});
    history = history_with_rows(std::move(history), 1, std::vector<std::int64_t>(kRows), 0);
    for (std::int64_t i = 0; i < kSteps * kRows * kWidth; ++i) history.data<float>()[i] = static_cast<float>(i);
    std::vector<std::int64_t> rows;
    for (std::int64_t r = 0; r < count; ++r) rows.push_back(r * 11 % kRows);
    const void* const memory = history.raw();
    history = history_with_rows(std::move(history), 1, rows, kSteps);
    EXPECT_EQ(history.raw(), memory);
    for (std::int64_t t = 0; t < kSteps; ++t) {
      for (std::int64_t r = 0; r < count; ++r) {
        for (std::int64_t k = 0; k < kWidth; k += 37) {
          ASSERT_EQ(history.at((t * count + r) * kWidth + k),
                    static_cast<double>((t * kRows + rows[static_cast<std::size_t>(r)]) * kWidth + k));
        }
      }
    }
  }
}

}  // namespace
}  // namespace graphrun
