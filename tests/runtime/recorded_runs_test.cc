// What is recorded, when, and what happens on a device that cannot record: with a backend that only counts.
#include "runtime/execute/recorded_runs.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/runtime/counting_backend.h"

namespace graphrun {
namespace {

class RecordedRunsTest : public ::testing::Test {
 protected:
  RecordedRuns of(std::int64_t launches) { return RecordedRuns(launches, budget_); }
  // Returns whether it was replayed.
  bool run(RecordedRuns& runs, std::uint64_t place) {
    return runs.run(device_, {place}, [&] {
      if (fails_) throw std::runtime_error("the run fails");
      if (!device_.recording) ++done_;
    });
  }

  Counting device_;
  std::shared_ptr<RecordingBudget> budget_ = std::make_shared<RecordingBudget>();
  bool fails_ = false;
  int done_ = 0;
};

TEST_F(RecordedRunsTest, PlayFromTheThirdTimeOn) {
  RecordedRuns runs = of(10);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(runs, 1), i >= 2);
  EXPECT_FALSE(run(runs, 2)) << "other places";
  EXPECT_TRUE(run(runs, 1));
  EXPECT_EQ(done_, 3);
  EXPECT_EQ(device_.plays, 4);
}

TEST_F(RecordedRunsTest, ForgetWhatWasUsedLongestAgo) {
  RecordedRuns runs = of(10);
  for (std::uint64_t place = 1; place <= 9; ++place) {
    for (int i = 0; i < 3; ++i) run(runs, place);
  }
  EXPECT_TRUE(run(runs, 2));
  EXPECT_FALSE(run(runs, 1));
  RecordedRuns large = of(2000);
  for (int i = 0; i < 3; ++i) run(large, 1);
  EXPECT_FALSE(run(large, 2)) << "of long runs there is one";
  EXPECT_FALSE(run(large, 1));
  RecordedRuns too_large = of(1 << 20);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(run(too_large, 1));
}

TEST_F(RecordedRunsTest, KeepToTheBudgetAndGiveItBack) {
  budget_->left = 15;
  {
    RecordedRuns one = of(10), other = of(10);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(run(one, 1), i >= 2);
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(run(other, 1));
    EXPECT_EQ(budget_->left, 5);
  }
  EXPECT_EQ(budget_->left, 15);
  RecordedRuns again = of(10);
  for (int i = 0; i < 3; ++i) run(again, 1);
  EXPECT_TRUE(run(again, 1));
}

// Runs that cannot be recorded are executed each time.
TEST_F(RecordedRunsTest, RunWhatIsNotRecorded) {
  for (const bool begins : {false, true}) {
    device_.begins = begins, device_.records = false, done_ = 0;
    RecordedRuns runs = of(10);
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(run(runs, 1));
    EXPECT_EQ(done_, 5);
    EXPECT_EQ(budget_->left, RecordingBudget().left);
  }
}

TEST_F(RecordedRunsTest, ThrowWhatTheRunThrowsAndEndTheRecording) {
  RecordedRuns runs = of(10);
  run(runs, 1), run(runs, 1);
  fails_ = true;
  EXPECT_THROW(run(runs, 1), std::runtime_error);
  EXPECT_FALSE(device_.recording);
  fails_ = false;
  EXPECT_FALSE(run(runs, 1));
  EXPECT_EQ(done_, 3);
}

}  // namespace
}  // namespace graphrun
