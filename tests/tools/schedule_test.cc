#include "tools/train/schedule.h"

#include <gtest/gtest.h>

namespace graphrun {
namespace {

TEST(LearningRate, StaysWithoutARule) {
  LearningRate rate({}, 0.5);
  rate.begin_epoch(1);
  rate.after_validation(false);
  EXPECT_EQ(rate.rate(), 0.5);
}

TEST(LearningRate, FallsAtEachEpochFromTheOneNamed) {
  LearningRate rate({ScheduleRule::Kind::kPerEpoch, 0.5, 3}, 8);
  const double expected[] = {8, 8, 4, 2, 1};
  for (int epoch = 1; epoch <= 5; ++epoch) {
    rate.begin_epoch(epoch);
    EXPECT_EQ(rate.rate(), expected[epoch - 1]) << epoch;
    rate.after_validation(false);
  }
}

TEST(LearningRate, FallsWhereAValidationDoesNotImprove) {
  LearningRate rate({ScheduleRule::Kind::kNoImprovement, 0.25, 1}, 20);
  rate.begin_epoch(1);
  rate.after_validation(true);
  EXPECT_EQ(rate.rate(), 20);
  rate.begin_epoch(2);
  rate.after_validation(false);
  EXPECT_EQ(rate.rate(), 5);
}

TEST(LearningRate, IsRestoredExactly) {
  const ScheduleRule rule{ScheduleRule::Kind::kPerEpoch, 0.869565, 1};
  LearningRate whole(rule, 0.6), first(rule, 0.6);
  for (int epoch = 1; epoch <= 4; ++epoch) whole.begin_epoch(epoch);
  first.begin_epoch(1);
  first.begin_epoch(2);
  LearningRate second(rule, 0.6);
  second.restore(first.rate());
  second.begin_epoch(3);
  second.begin_epoch(4);
  EXPECT_EQ(second.rate(), whole.rate());
}

}  // namespace
}  // namespace graphrun
