#include "runtime/base/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <thread>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

using ::testing::ElementsAre;

const Dim kSteps = Symbol::named("time");
const Dim kBatchSize = Symbol::named("batch");

TEST(Symbol, IsInterned) {
  EXPECT_EQ(Symbol::named("time"), Symbol::named("time"));
  EXPECT_FALSE(Symbol::named("time") == Symbol::named("batch"));
  EXPECT_EQ(Symbol::named("words").name(), "words");
}

TEST(Symbol, IsInternedFromManyThreads) {
  std::vector<std::vector<Symbol>> found(4);
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 200; ++i) mine.push_back(Symbol::named("s" + std::to_string(i)));
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& mine : found) EXPECT_EQ(mine, found[0]);
  EXPECT_EQ(found[0][17].name(), "s17");
}

TEST(Dim, HasANormalForm) {
  EXPECT_EQ((kSteps + 1) * (kSteps - 1), kSteps * kSteps - 1);
  EXPECT_EQ(kSteps * kBatchSize, kBatchSize * kSteps);
  EXPECT_EQ(kSteps - kSteps, Dim(0));
  EXPECT_TRUE((kSteps - kSteps).is(0));
  EXPECT_NE(kSteps, kBatchSize);
  EXPECT_EQ(kSteps.as_symbol(), Symbol::named("time"));
  EXPECT_FALSE((kSteps + 1).as_symbol());
  EXPECT_FALSE((kSteps * 2).as_symbol());
  EXPECT_THAT((kSteps * kBatchSize * kSteps + 3).symbols(), ElementsAre(Symbol::named("batch"), Symbol::named("time")));
}

TEST(Dim, PrintsAndParses) {
  EXPECT_EQ((Dim(2) * kSteps * kBatchSize + 1).str(), "2*batch*time+1");
  EXPECT_EQ((kBatchSize - kSteps * kSteps - 3).str(), "-time*time+batch-3");
  EXPECT_EQ(Dim(0).str(), "0");
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  for (const Dim& dim :
       {Dim(2) * kSteps * kBatchSize + 1, kBatchSize - kSteps * kSteps - 3, Dim(0), Dim(-7), Dim(kLowest),
        Dim(kLowest) * kSteps, Dim(std::numeric_limits<std::int64_t>::max()), Dim(-1) * kSteps, Dim(Symbol::named("a.b@2"))}) {
    EXPECT_EQ(Dim::parse(dim.str()), dim) << dim.str();
  }
  EXPECT_EQ(Dim::parse(" 2 * time * 3 - 4 "), Dim(6) * kSteps - 4);
  for (const char* bad :
       {"", "+", "2*", "*2", "time time", "2time", "time+", "9223372036854775808", "a*9223372036854775807*3", "(a)"}) {
    EXPECT_FALSE(Dim::parse(bad)) << bad;
  }
}

TEST(Dim, EvaluatesOrSaysWhy) {
  const SymbolValues values = {{Symbol::named("time"), 35}, {Symbol::named("batch"), std::int64_t{1} << 40}};
  EXPECT_EQ((kSteps * kSteps - 2).evaluate(values), 1223);
  EXPECT_THROW((kBatchSize * kBatchSize).evaluate(values), UserError);
  try {
    (kSteps + Symbol::named("unknown")).evaluate(values);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadData);
    EXPECT_THAT(error.what(), testing::HasSubstr("the size 'unknown' is not known"));
  }
}

TEST(Dim, RefusesOverflowAndMonsters) {
  const Dim huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(huge + 1, UserError);
  EXPECT_THROW(huge * 2, UserError);
  EXPECT_THROW(huge * kSteps * 2, UserError);
  EXPECT_THROW(Dim(std::numeric_limits<std::int64_t>::min()) - 1, UserError);
  Dim power = kSteps;
  EXPECT_THROW(for (int i = 0; i < 20; ++i) power = power * power, UserError);
}

TEST(Dim, Divides) {
  EXPECT_EQ((Dim(6) * kSteps + 4).divided_by(2), Dim(3) * kSteps + 2);
  EXPECT_FALSE((Dim(6) * kSteps + 3).divided_by(2));
  EXPECT_EQ((kSteps * kBatchSize).divided_by(kBatchSize), kSteps);
  EXPECT_FALSE((kSteps * kBatchSize + 1).divided_by(kBatchSize));
  EXPECT_FALSE(kSteps.divided_by(kBatchSize));
  EXPECT_FALSE(kSteps.divided_by(0));
  EXPECT_EQ(Dim(0).divided_by(kSteps), Dim(0));
  EXPECT_EQ((kSteps * kSteps - kBatchSize * kBatchSize).divided_by(kSteps + kBatchSize), kSteps - kBatchSize);
  EXPECT_FALSE(Dim(std::numeric_limits<std::int64_t>::min()).divided_by(-1));
}

// (a * b) / b equals a for random polynomials, and an inexact division has a nonzero remainder when evaluated.
TEST(Dim, DividesWhatItMultiplied) {
  std::mt19937 random(1);
  const std::vector<Dim> symbols = {1, kSteps, kBatchSize, Symbol::named("words")};
  const auto draw = [&] {
    Dim sum = 0;
    for (int i = 0; i < 4; ++i)
      sum = sum + Dim(static_cast<int>(random() % 7) - 3) * symbols[random() % 4] * symbols[random() % 4];
    return sum;
  };
  for (int i = 0; i < 300; ++i) {
    const Dim a = draw(), b = draw();
    if (b.is(0)) continue;
    ASSERT_EQ((a * b).divided_by(b), a) << a.str() << " times " << b.str();
    if (const auto q = a.divided_by(b)) {
      ASSERT_EQ(*q * b, a);
    }
  }
}

TEST(Dim, Substitutes) {
  EXPECT_EQ((kSteps * kSteps + kBatchSize).substitute({{Symbol::named("time"), kBatchSize - 1}}),
            kBatchSize * kBatchSize - kBatchSize + 1);
}

TEST(Dim, IsTotallyOrdered) {
  const std::vector<Dim> dims = {0, 1, kSteps, kBatchSize, kSteps + 1, kSteps * kBatchSize};
  for (const Dim& a : dims) {
    for (const Dim& b : dims) EXPECT_EQ((a < b) + (b < a) + (a == b), 1);
  }
}

TEST(Shape, PrintsCountsAndEvaluates) {
  const Shape shape = {kSteps, kBatchSize, 300};
  EXPECT_EQ(str(shape), "[time, batch, 300]");
  EXPECT_EQ(str(Sizes{35, 20}), "[35, 20]");
  EXPECT_EQ(str(Sizes{}), "[]");
  EXPECT_EQ(element_count(shape), Dim(300) * kSteps * kBatchSize);
  EXPECT_EQ(element_count(Sizes{}), 1);
  EXPECT_EQ(element_count(Sizes{3, 0, 5}), 0);
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_THROW(element_count(Sizes{big, big}), UserError);
  EXPECT_THROW(element_count(Sizes{big, big, 0}), UserError);
  EXPECT_THROW(element_count(Sizes{-1}), UserError);
  EXPECT_THAT(evaluate(shape, {{Symbol::named("time"), 2}, {Symbol::named("batch"), 3}}), ElementsAre(2, 3, 300));
  EXPECT_THROW(evaluate({kSteps - 3}, {{Symbol::named("time"), 2}}), UserError);
}

TEST(Shape, BroadcastsLiteralOnes) {
  EXPECT_EQ(broadcast({kSteps, kBatchSize, 300}, {300}), (Shape{kSteps, kBatchSize, 300}));
  EXPECT_EQ(broadcast({1, 5}, {kBatchSize, 1}), (Shape{kBatchSize, 5}));
  EXPECT_EQ(broadcast({}, {kBatchSize}), (Shape{kBatchSize}));
  EXPECT_FALSE(broadcast({kSteps}, {kBatchSize}));
  EXPECT_FALSE(broadcast({2}, {3}));
  EXPECT_FALSE(broadcast({kSteps}, {5}));
}

}  // namespace
}  // namespace graphrun
