#include "runtime/threads/threads.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

// Restores the number of threads when the test ends.
class Threads : public testing::Test {
 protected:
  ~Threads() override { set_threads(before_); }
  int before_ = threads();
};

TEST_F(Threads, AreBounded) {
  EXPECT_GE(core_count(), 1);
  set_threads(1);
  EXPECT_EQ(threads(), 1);
  EXPECT_EQ(omp_get_max_threads(), 1);
  EXPECT_THROW(set_threads(0), UserError);
  EXPECT_THROW(set_threads(-1), UserError);
  EXPECT_THROW(set_threads(core_count() + 1), UserError);
  EXPECT_EQ(threads(), 1);
}

TEST_F(Threads, CoverEveryElementOnce) {
  for (int count = 1; count <= core_count(); ++count) {
    set_threads(count);
    for (const std::int64_t n : {0, 1, 7, 8, 9, 63, 64, 1000}) {
      for (const std::int64_t grain : {0, 1, 8, 64, 5000}) {
        std::vector<int> seen(static_cast<std::size_t>(n), 0);
        parallel_ranges(n, grain, [&](std::int64_t begin, std::int64_t end) {
          EXPECT_LT(begin, end);
          EXPECT_EQ(begin % std::max<std::int64_t>(grain, 1), 0);
          for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(n), 1)) << n << " by " << grain;
      }
    }
  }
}

TEST_F(Threads, ShareWork) {
  set_threads(core_count());
  std::vector<int> by(4096, -1);
  parallel_ranges(4096, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) by[static_cast<std::size_t>(i)] = omp_get_thread_num();
  });
  EXPECT_EQ(by.front(), 0);
  EXPECT_EQ(by.back(), core_count() - 1);
}

TEST_F(Threads, NestSerially) {
  int calls = 0;
  parallel_ranges(2, 1, [&](std::int64_t, std::int64_t) {
    int inner = 0;
    parallel_ranges(100, 1, [&](std::int64_t begin, std::int64_t end) { inner += static_cast<int>(end - begin); });
#pragma omp critical(threads_test)
    calls += inner;
  });
  EXPECT_EQ(calls % 100, 0);
  EXPECT_GT(calls, 0);
}

TEST_F(Threads, ThrowTheFirstFailure) {
  for (int count = 1; count <= core_count(); ++count) {
    set_threads(count);
    try {
      parallel_ranges(1000, 10, [](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          if (i >= 123) throw UserError(ExitCode::kBadData, "E0601", std::to_string(i));
        }
      });
      FAIL();
    } catch (const UserError& error) {
      EXPECT_STREQ(error.what(), "error[E0601]: 123");
    }
  }
}

}  // namespace
}  // namespace graphrun
