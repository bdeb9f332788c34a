#include "tools/shortlist/shortlist.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace graphrun {
namespace {

// The length of the list for this many words. Kernels are bound for each length that occurs, so there are eight between a power
// of two and the next, from 128 words on; below, steps are of 16.
std::int64_t length_for(std::int64_t words) {
  constexpr std::int64_t kLeastStep = 16;
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(words, 1))));
  const std::int64_t step = std::max(power / 8, kLeastStep);
  return (words + step - 1) / step * step;
}

}  // namespace

BatchShortlist::BatchShortlist(Lexicon lexicon, std::vector<std::int32_t> always, std::int64_t vocabulary, std::int64_t least)
    : lexicon_(std::move(lexicon)), always_(std::move(always)), vocabulary_(vocabulary), least_(least) {}

BatchShortlist::Selected BatchShortlist::select(const std::vector<std::vector<std::int32_t>>& sources,
                                                const std::vector<std::vector<std::int32_t>>& more) const {
  const std::size_t rows = sources.size();
  std::vector<std::vector<std::int32_t>> of_rows(rows);
  std::vector<bool> listed(static_cast<std::size_t>(vocabulary_));
  std::int64_t count = 0;
  const auto list = [&](std::int32_t word) {
    if (listed[static_cast<std::size_t>(word)]) return;
    listed[static_cast<std::size_t>(word)] = true;
    ++count;
  };
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::int32_t>& own = of_rows[row];
    for (std::int32_t word : sources[row]) {
      const auto words = lexicon_.of(word);
      own.insert(own.end(), words.begin(), words.end());
    }
    if (!more.empty()) own.insert(own.end(), more[row].begin(), more[row].end());
    std::for_each(own.begin(), own.end(), list);
  }
  std::for_each(always_.begin(), always_.end(), list);
  const std::int64_t length = std::min(length_for(std::max(count, least_)), vocabulary_);
  for (std::int32_t word = 0; count < length; ++word) list(word);

  Selected selected{Tensor(DType::kInt32, {length}), Tensor(DType::kBool, {static_cast<std::int64_t>(rows), length})};
  std::vector<std::int32_t> place(static_cast<std::size_t>(vocabulary_));
  std::int32_t next = 0;
  for (std::size_t word = 0; word < listed.size(); ++word) {
    if (!listed[word]) continue;
    selected.words.data<std::int32_t>()[next] = static_cast<std::int32_t>(word);
    place[word] = next++;
  }
  auto* allowed = selected.allowed.data<std::uint8_t>();
  for (std::size_t row = 0; row < rows; ++row, allowed += length) {
    for (std::int32_t word : of_rows[row]) allowed[place[static_cast<std::size_t>(word)]] = 1;
    for (std::int32_t word : always_) allowed[place[static_cast<std::size_t>(word)]] = 1;
  }
  return selected;
}

}  // namespace graphrun
