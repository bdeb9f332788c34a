#include "tools/train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace graphrun {
namespace {

using Kind = ScheduleRule::Kind;
using After = LearningRate::After;

ScheduleRule rule_of(Kind kind) {
  ScheduleRule rule;
  rule.kind = kind;
  return rule;
}

TEST(LearningRate, StaysWithoutARule) {
  LearningRate rate({}, 0.5);
  rate.begin_epoch(1);
  EXPECT_EQ(rate.after_validation(3, false, 7), After::kContinue);
  EXPECT_EQ(rate.rate(1), 0.5);
  EXPECT_EQ(rate.rate(1000), 0.5);
}

TEST(LearningRate, FallsAtEachEpochFromTheOneNamed) {
  ScheduleRule rule = rule_of(Kind::kPerEpoch);
  rule.factor = 0.5;
  rule.from = 3;
  LearningRate rate(rule, 8);
  const double expected[] = {8, 8, 4, 2, 1};
  for (int epoch = 1; epoch <= 5; ++epoch) {
    rate.begin_epoch(epoch);
    EXPECT_EQ(rate.rate(epoch), expected[epoch - 1]) << epoch;
  }
}

TEST(LearningRate, FallsWhereAValidationDoesNotImprove) {
  ScheduleRule rule = rule_of(Kind::kNoImprovement);
  rule.factor = 0.25;
  LearningRate rate(rule, 20);
  rate.after_validation(9, false, 1);
  EXPECT_EQ(rate.rate(1), 20);
  rate.after_validation(9, false, 2);
  EXPECT_EQ(rate.rate(2), 5);
  rate.after_validation(std::numeric_limits<double>::quiet_NaN(), false, 3);
  EXPECT_EQ(rate.rate(3), 1.25);
  rate.after_validation(8.5, false, 4);
  EXPECT_EQ(rate.rate(4), 1.25);
}

// CytonMT's: a patience of 3 probes, a margin of max(0.01 * rate, 0.001), return to the best, end after two decays in vain.
TEST(LearningRate, WaitsForAMarginGoesBackAndEnds) {
  ScheduleRule rule = rule_of(Kind::kNoImprovement);
  rule.factor = 0.7, rule.patience = 3, rule.margin = 0.001, rule.margin_of_rate = 0.01, rule.decays = 2, rule.restart = true;
  LearningRate rate(rule, 1);
  const auto probe = [&](double value) { return rate.after_validation(value, false, 1); };
  EXPECT_EQ(probe(5), After::kContinue);
  EXPECT_EQ(probe(4.995), After::kContinue);  // better by less than 0.01
  EXPECT_EQ(probe(4.992), After::kContinue);
  EXPECT_EQ(probe(4.985), After::kContinue);  // better by 0.015 than the last improvement
  EXPECT_EQ(rate.rate(1), 1);
  for (int decay = 1; decay <= 2; ++decay) {
    EXPECT_EQ(probe(5), After::kContinue);
    EXPECT_EQ(probe(5), After::kContinue);
    EXPECT_EQ(probe(5), After::kRestart);
    EXPECT_DOUBLE_EQ(rate.rate(1), std::pow(0.7, decay));
  }
  EXPECT_EQ(probe(5), After::kContinue);
  EXPECT_EQ(probe(5), After::kContinue);
  EXPECT_EQ(probe(5), After::kEnd);
  // An improvement between them resets the count.
  LearningRate other(rule, 1);
  for (const double value : {5.0, 5.0, 5.0, 5.0, 4.0}) other.after_validation(value, false, 1);
  EXPECT_EQ(other.state().decays, 0);
  EXPECT_DOUBLE_EQ(other.rate(1), 0.7);
}

TEST(LearningRate, TheHighestMayBeTheBest) {
  Patience patience;
  EXPECT_TRUE(patience.improves(0.5, true, 0.1));
  EXPECT_FALSE(patience.improves(0.55, true, 0.1));
  EXPECT_TRUE(patience.improves(0.61, true, 0.1));
  EXPECT_FALSE(patience.improves(0.4, true, 0));
  EXPECT_EQ(patience.waited, 1);
}

// Vaswani et al. 2017, section 5.3: width^-0.5 min(t^-0.5, t warmup^-1.5).
TEST(LearningRate, FallsWithTheInverseSquareRoot) {
  ScheduleRule rule = rule_of(Kind::kInverseSquareRoot);
  rule.warmup = 400;
  const LearningRate rate(rule, 1 / std::sqrt(512.0 * 400));
  for (const int t : {1, 10, 399, 400, 401, 1600, 100000}) {
    const double expected = std::pow(512.0, -0.5) * std::min(std::pow(t, -0.5), t * std::pow(400.0, -1.5));
    EXPECT_NEAR(rate.rate(t), expected, 1e-15) << t;
  }
}

TEST(LearningRate, FollowsHalfACosineBehindTheWarmUp) {
  ScheduleRule rule = rule_of(Kind::kCosine);
  rule.warmup = 10, rule.steps = 110, rule.least = 0.1;
  const LearningRate rate(rule, 1);
  EXPECT_DOUBLE_EQ(rate.rate(1), 0.1);
  EXPECT_DOUBLE_EQ(rate.rate(10), 1);
  EXPECT_DOUBLE_EQ(rate.rate(60), 0.55);
  EXPECT_DOUBLE_EQ(rate.rate(110), 0.1);
  EXPECT_DOUBLE_EQ(rate.rate(5000), 0.1);
}

// Chen et al. 2018, section 4: 1e-4 * min(1 + t (n - 1) / (n p), n, n (2n)^((s - n t) / (e - s))).
TEST(LearningRate, RisesStaysAndFallsAsGnmtPlus) {
  ScheduleRule rule = rule_of(Kind::kGnmtPlus);
  rule.times = 4, rule.gnmt_warmup = 50, rule.decay_from = 2000, rule.decay_to = 6000;
  const LearningRate rate(rule, 1e-4);
  EXPECT_NEAR(rate.rate(100), 1e-4 * 2.5, 1e-12);
  EXPECT_NEAR(rate.rate(200), 4e-4, 1e-12);
  EXPECT_NEAR(rate.rate(500), 4e-4, 1e-12);
  EXPECT_NEAR(rate.rate(1000), 4e-4 * std::pow(8, -0.5), 1e-12);
  EXPECT_NEAR(rate.rate(1500), 0.5e-4, 1e-12);
}

TEST(LearningRate, WarmsUpToWhatItWouldBeAndStaysAboveTheLeast) {
  ScheduleRule rule = rule_of(Kind::kPerEpoch);
  rule.factor = 0.1, rule.warmup = 4, rule.least = 0.05;
  LearningRate rate(rule, 1);
  EXPECT_DOUBLE_EQ(rate.rate(1), 0.25);
  EXPECT_DOUBLE_EQ(rate.rate(4), 1);
  for (const int epoch : {1, 2}) rate.begin_epoch(epoch);
  EXPECT_DOUBLE_EQ(rate.rate(9), 0.05);
}

TEST(LearningRate, IsRestoredExactly) {
  ScheduleRule rule = rule_of(Kind::kNoImprovement);
  rule.factor = 0.869565, rule.patience = 2, rule.margin_of_rate = 0.1;
  LearningRate whole(rule, 0.6), first(rule, 0.6);
  const double values[] = {5, 4.99, 4.98, 4.97, 4.96, 4.5, 4.6, 4.7};
  for (const double value : values) whole.after_validation(value, false, 3);
  for (int i = 0; i < 3; ++i) first.after_validation(values[i], false, 3);
  LearningRate second(rule, 0.6);
  second.restore(first.state());
  for (int i = 3; i < 8; ++i) second.after_validation(values[i], false, 3);
  EXPECT_EQ(second.state(), whole.state());
}

}  // namespace
}  // namespace graphrun
