#include "tools/data/prefetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>

namespace graphrun {
namespace {

TEST(Prefetch, KeepsTheOrderAndEnds) {
  int made = 0;
  Prefetcher<int> reader([&]() -> std::optional<int> { return made < 100 ? std::optional(made++) : std::nullopt; }, 3);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(reader.next(), i);
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.next());
}

TEST(Prefetch, NeverMoreThanAhead) {
  std::atomic<int> made = 0;
  Prefetcher<int> reader([&]() -> std::optional<int> { return made++; }, 3);
  while (made < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for a fourth to appear; never a false alarm
  EXPECT_EQ(made, 3);
  EXPECT_EQ(reader.next(), 0);
}

TEST(Prefetch, CarriesExceptionsOverAfterWhatWasMadeBefore) {
  int made = 0;
  Prefetcher<int> reader([&]() -> std::optional<int> {
    if (made == 2) throw std::runtime_error("no more");
    return made++;
  });
  EXPECT_EQ(reader.next(), 0);
  EXPECT_EQ(reader.next(), 1);
  EXPECT_THROW(reader.next(), std::runtime_error);
  EXPECT_THROW(reader.next(), std::runtime_error);
}

TEST(Prefetch, StopsAtAnyTime) {
  for (int taken = 0; taken < 20; ++taken) {
    Prefetcher<std::unique_ptr<int>> reader([] { return std::optional(std::make_unique<int>(1)); }, 2);
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(reader.next());
  }
}

TEST(Prefetch, ThingsThatOnlyMove) {
  bool made = false;
  Prefetcher<std::unique_ptr<int>> reader([&]() -> std::optional<std::unique_ptr<int>> {
    if (std::exchange(made, true)) return std::nullopt;
    return std::make_unique<int>(7);
  });
  EXPECT_EQ(*reader.next().value(), 7);
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace graphrun
