// The longest common subsequence, compared with the plain table of all pairs.
#include "tools/report/common_subsequence.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <random>

#include "tests/sanitized.h"

namespace graphrun {
namespace {

// Equal prefixes and suffixes are left out of the table.
std::vector<bool> by_table(std::vector<std::int32_t> a, std::vector<std::int32_t> b) {
  std::size_t begin = 0, end = 0;
  for (; !a.empty() && !b.empty() && a.front() == b.front(); ++begin) a.erase(a.begin()), b.erase(b.begin());
  for (; !a.empty() && !b.empty() && a.back() == b.back(); ++end) a.pop_back(), b.pop_back();
  const std::size_t columns = b.size() + 1;
  std::vector<std::int32_t> table((a.size() + 1) * columns, 0);
  const auto longest = [&](std::size_t i, std::size_t j) -> std::int32_t& { return table[i * columns + j]; };
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      longest(i, j) = a[i] == b[j] ? longest(i + 1, j + 1) + 1 : std::max(longest(i + 1, j), longest(i, j + 1));
  std::vector<bool> common(a.size());
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j])
      common[i++] = true, ++j;
    else if (longest(i + 1, j) >= longest(i, j + 1))
      ++i;
    else
      ++j;
  }
  common.insert(common.begin(), begin, true);
  common.insert(common.end(), end, true);
  return common;
}

std::vector<std::int32_t> random_sequence(std::mt19937& random, std::size_t length, int kinds) {
  std::vector<std::int32_t> sequence(length);
  for (std::int32_t& element : sequence) element = static_cast<std::int32_t>(random() % static_cast<unsigned>(kinds));
  return sequence;
}

TEST(CommonSubsequence, IsWhatTheTableOfAllPairsSays) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t most = round % 100 == 0 ? 1500 : round % 10 == 0 ? 120 : 12;
    const int kinds = 1 + round % 7;
    const auto a = random_sequence(random, random() % (most + 1), kinds),
               b = random_sequence(random, random() % (most + 1), kinds);
    ASSERT_EQ(common_subsequence(a, b), by_table(a, b)) << round;
  }
}

// A table of all pairs would take 1.6 GB.
TEST(CommonSubsequence, TakesLittleMemory) {
  if (tests::address_sanitized()) GTEST_SKIP() << "AddressSanitizer holds back what is freed";
  std::mt19937 random(2);
  const auto a = random_sequence(random, 20000, 500), b = random_sequence(random, 20000, 500);
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // in KiB
  };
  const auto before = peak();
  const std::vector<bool> common = common_subsequence(a, b);
  EXPECT_GT(std::count(common.begin(), common.end(), true), 0);
  EXPECT_LT(peak() - before, 64 * 1024);
}

}  // namespace
}  // namespace graphrun
