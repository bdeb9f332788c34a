#include "tools/generate/row_layout.h"

#include <algorithm>
#include <numeric>

namespace graphrun {

std::vector<std::int64_t> rows_beside_parents(const std::vector<std::int64_t>& places, std::span<const std::int32_t> parents,
                                              std::int64_t beam) {
  constexpr std::int64_t kFree = -1;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const auto rows = static_cast<std::int64_t>(places.size());
  const auto sentence_of_row = [&](std::int64_t row) { return places[at(row)] / beam; };
  std::vector<std::int64_t> sorted = places, next(places.size(), kFree), others;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const std::int64_t place : sorted) {
    const std::int64_t parent = parents[at(place)];
    const bool takes = parent >= 0 && parent < rows && next[at(parent)] == kFree && sentence_of_row(parent) == place / beam;
    takes ? void(next[at(parent)] = place) : others.push_back(place);
  }
  // The others take the free rows of their sentences. Both are in the order of sentences.
  std::vector<std::int64_t> free(places.size());
  std::iota(free.begin(), free.end(), 0);
  std::erase_if(free, [&](std::int64_t row) { return next[at(row)] != kFree; });
  std::stable_sort(free.begin(), free.end(),
                   [&](std::int64_t a, std::int64_t b) { return sentence_of_row(a) < sentence_of_row(b); });
  auto other = others.begin();
  for (const std::int64_t row : free) {
    const bool fits = other != others.end() && *other / beam == sentence_of_row(row);
    next[at(row)] = fits ? *other++ : places[at(row)];  // a row too many computes a place that has another row
  }
  return next;
}

}  // namespace graphrun
