#include "compiler/ir/stable_vector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include "compiler/ir/graph.h"

namespace graphrun::ir {
namespace {

using Words = StableVector<std::string>;

Words counted(int n) {
  Words words;
  for (int i = 0; i < n; ++i) words.push_back(std::to_string(i));
  return words;
}

TEST(StableVector, KeepsAddressesWhenItGrows) {
  Words words = counted(1);
  const std::string& first = words[0];
  for (int i = 0; i < 1000; ++i) words.push_back("more");
  EXPECT_EQ(&first, &words[0]);
  EXPECT_EQ(first, "0");
}

TEST(StableVector, KeepsAddressesWhenItMoves) {
  Words words = counted(3);
  const std::string* const last = &words.back();
  const Words moved = std::move(words);
  EXPECT_EQ(&moved.back(), last);
}

TEST(StableVector, CopiesDeep) {
  Words words = counted(3);
  Words copy = words;
  copy[1] = "other";
  EXPECT_EQ(words[1], "1");
  words = copy;
  EXPECT_EQ(words[1], "other");
  EXPECT_NE(&words[1], &copy[1]);
  const Words& same = words;
  words = same;
  EXPECT_EQ(words.size(), 3u);
}

TEST(StableVector, IsWalkedAndTruncated) {
  Words words = counted(5);
  EXPECT_EQ(std::find(words.begin(), words.end(), "3"), words.begin() + 3);
  for (std::string& word : words) word += "!";
  words.truncate(2);
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words.back(), "1!");
  words.truncate(0);
  EXPECT_TRUE(words.empty());
}

// Else vectors of graphs and nodes would copy regions when they grow.
TEST(StableVector, MovesWithoutThrowing) {
  static_assert(std::is_nothrow_move_constructible_v<Words> && std::is_nothrow_move_assignable_v<Words>);
  static_assert(std::is_nothrow_move_constructible_v<Node>);
}

}  // namespace
}  // namespace graphrun::ir
