#include "runtime/threads/own_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace graphrun {
namespace {

TEST(OwnThreads, EachWorksAloneAndAtTheSameTime) {
  std::atomic<int> here{0};
  std::vector<int> threads_seen(3, 0);
  std::vector<std::thread::id> ids(3);
  on_own_threads(3, [&](int i) {
    threads_seen[static_cast<std::size_t>(i)] = threads();
    ids[static_cast<std::size_t>(i)] = std::this_thread::get_id();
    ++here;
    while (here < 3) std::this_thread::yield();  // never ends if they work one after the other
    std::int64_t ranges = 0;
    parallel_ranges(1000, 1, [&](std::int64_t, std::int64_t) { ++ranges; });
    EXPECT_EQ(ranges, 1);
  });
  EXPECT_EQ(threads_seen, (std::vector<int>{1, 1, 1}));
  EXPECT_TRUE(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
}

TEST(OwnThreads, LeaveTheNumberOfThreadsAsItWas) {
  const int before = threads(), libraries = omp_get_max_threads();
  on_own_threads(2, [](int) {});
  EXPECT_EQ(threads(), before);
  EXPECT_EQ(omp_get_max_threads(), libraries);
  on_own_threads(1, [&](int) { EXPECT_EQ(threads(), before); });
  {
    const SingleThread outer;
    { const SingleThread inner; }
    EXPECT_EQ(threads(), 1);
  }
  EXPECT_EQ(threads(), before);
}

TEST(OwnThreads, AllEndBeforeAnExceptionLeaves) {
  std::atomic<int> ended{0};
  try {
    on_own_threads(3, [&](int i) {
      if (i == 1) throw std::runtime_error("of one");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++ended;
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), std::string("of one"));
  }
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace graphrun
