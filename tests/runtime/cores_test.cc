#include "runtime/threads/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace graphrun {
namespace {

cpu_set_t allowed() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

std::vector<int> cores() {
  std::vector<int> all;
  const cpu_set_t set = allowed();
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) all.push_back(core);
  }
  return all;
}

// Moves this thread to a core as the system would: it may be moved again.
void wake_on(int core) {
  const cpu_set_t before = allowed();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

// Two threads on separate cores stay there for the few instructions between two checks, but a busy system may move either at
// any time: each test retries before it fails.
template <class Try>
void expect_soon(const Try& holds) {
  for (int i = 0; i < 50; ++i) {
    if (holds()) return;
  }
  ADD_FAILURE() << "not once in fifty tries";
}

TEST(Cores, MoveAThreadOffTheCoreOfTheOneThatWokeIt) {
  if (cores().size() < 2) GTEST_SKIP() << "one core";
  expect_soon([] {
    Cores region;
    wake_on(cores()[1]);
    region.begin();
    const int mine = sched_getcpu();
    int before = -1, after = -1;
    std::thread([&] {
      wake_on(mine);
      before = sched_getcpu();
      region.enter();
      after = sched_getcpu();
    }).join();
    return before == mine && after != mine;
  });
}

TEST(Cores, LeaveAThreadThatHasItsOwn) {
  if (cores().size() < 2) GTEST_SKIP() << "one core";
  expect_soon([] {
    Cores region;
    wake_on(cores()[0]);
    region.begin();
    int after = -1;
    std::thread([&] {
      wake_on(cores().back());
      region.enter();
      after = sched_getcpu();
    }).join();
    return after == cores().back();
  });
}

TEST(Cores, BringTheFirstThreadBackFromTheCoreOfAnother) {
  if (cores().size() < 2) GTEST_SKIP() << "one core";
  expect_soon([] {
    Cores region;
    wake_on(cores()[0]);
    region.begin();
    std::thread([&] {
      wake_on(cores().back());
      region.enter();
    }).join();
    wake_on(cores().back());
    region.begin();
    return sched_getcpu() == cores()[0];
  });
}

TEST(Cores, BindNoThread) {
  const std::vector<int> before = cores();
  Cores region;
  region.begin();
  std::atomic<int> bound{0};
  std::vector<std::thread> threads;
  // More threads than cores: those that find no core stay where they are.
  for (std::size_t i = 0; i < before.size() + 2; ++i) {
    threads.emplace_back([&] {
      region.enter();
      if (cores() != before) ++bound;
    });
  }
  for (std::thread& t : threads) t.join();
  region.begin();
  EXPECT_EQ(bound, 0);
  EXPECT_EQ(cores(), before);
}

}  // namespace
}  // namespace graphrun
