#include "tools/generate/row_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace graphrun {
namespace {

using PlacesByRow = std::vector<std::int64_t>;
using ParentsByPlace = std::vector<std::int32_t>;

TEST(RowLayout, ContinuationsStayInTheRowsOfTheirParents) {
  // Two sentences with three places each. In the first, ranks change; in the second, one hypothesis has two continuations.
  EXPECT_EQ(rows_beside_parents({0, 1, 2, 3, 4, 5}, ParentsByPlace{2, 0, 1, 4, 4, 3}, 3), (PlacesByRow{1, 2, 0, 5, 3, 4}));
  // Nothing moves if every rank stays.
  EXPECT_EQ(rows_beside_parents({0, 1, 2}, ParentsByPlace{0, 1, 2}, 3), (PlacesByRow{0, 1, 2}));
}

TEST(RowLayout, APlaceWithoutAHypothesisTakesWhatIsFree) {
  // The parent of place 4 is a row of the other sentence, and that of place 5 is no row.
  EXPECT_EQ(rows_beside_parents({0, 1, 3, 4, 5}, ParentsByPlace{1, 0, 0, 2, 0, 9}, 3), (PlacesByRow{1, 0, 3, 4, 5}));
}

// The places are the same as before, and each row keeps its sentence; more rows than places repeat some.
TEST(RowLayout, RowsKeepTheirSentences) {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t beam = 1 + below(5), sentences = 1 + below(6);
    PlacesByRow places;
    for (std::int64_t place = 0; place < beam * sentences; ++place) {
      if (below(4) > 0) places.push_back(place);
    }
    if (places.empty()) continue;
    for (std::int64_t more = below(4); more > 0; --more) places.push_back(places.front());
    for (int step = 0; step < 4; ++step) {
      ParentsByPlace parents;
      for (std::int64_t place = 0; place < beam * sentences; ++place) {
        parents.push_back(static_cast<std::int32_t>(below(static_cast<std::int64_t>(places.size()))));
      }
      const PlacesByRow next = rows_beside_parents(places, parents, beam);
      ASSERT_EQ(next.size(), places.size());
      for (std::size_t row = 0; row < next.size(); ++row) EXPECT_EQ(next[row] / beam, places[row] / beam);
      for (const std::int64_t place : places) EXPECT_NE(std::find(next.begin(), next.end(), place), next.end());
      for (const std::int64_t place : next) EXPECT_NE(std::find(places.begin(), places.end(), place), places.end());
      places = next;
    }
  }
}

}  // namespace
}  // namespace graphrun
