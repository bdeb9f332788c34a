#include "tools/score/edit_distance.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace graphrun {
namespace {

constexpr std::size_t kBits = 64;

// 64 rows of the distance matrix, as bits: whether an entry is one more, or one less, than the entry above.
struct Block {
  std::uint64_t more = ~std::uint64_t{0}, less = 0;
};

// The positions of an element in `a`: the blocks, and the bits in each.
using BitPlaces = std::vector<std::pair<std::size_t, std::uint64_t>>;

std::unordered_map<std::int32_t, BitPlaces> places_in(std::span<const std::int32_t> a) {
  std::unordered_map<std::int32_t, BitPlaces> places;
  for (std::size_t i = 0; i < a.size(); ++i) {
    BitPlaces& of = places[a[i]];
    if (of.empty() || of.back().first != i / kBits) of.emplace_back(i / kBits, 0);
    of.back().second |= std::uint64_t{1} << i % kBits;
  }
  return places;
}

}  // namespace

// Computes the matrix column by column, all rows of a block at once (Myers 1999, Hyyrö 2003).
std::int64_t edit_distance(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) a = a.subspan(1), b = b.subspan(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a = a.first(a.size() - 1), b = b.first(b.size() - 1);
  if (a.empty() || b.empty()) return static_cast<std::int64_t>(a.size() + b.size());
  const auto places = places_in(a);
  const BitPlaces nowhere;
  std::vector<Block> blocks((a.size() + kBits - 1) / kBits);
  const std::size_t last_bit = (a.size() - 1) % kBits;
  auto distance = static_cast<std::int64_t>(a.size());
  for (const std::int32_t element : b) {
    const auto found = places.find(element);
    const BitPlaces& equal = found == places.end() ? nowhere : found->second;
    auto next = equal.begin();
    std::uint64_t more_above = 1, less_above = 0;  // difference from the previous column, in the row above a block
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      Block& block = blocks[k];
      std::uint64_t matches = 0;
      if (next != equal.end() && next->first == k) matches = (next++)->second;
      const std::uint64_t down = matches | block.less;
      matches |= less_above;
      const std::uint64_t across = (((matches & block.more) + block.more) ^ block.more) | matches;
      std::uint64_t more = block.less | ~(across | block.more), less = block.more & across;
      if (k + 1 == blocks.size()) {
        distance += static_cast<std::int64_t>(more >> last_bit & 1) - static_cast<std::int64_t>(less >> last_bit & 1);
      }
      const std::uint64_t more_below = more >> (kBits - 1), less_below = less >> (kBits - 1);
      more = more << 1 | more_above;
      less = less << 1 | less_above;
      block.more = less | ~(down | more);
      block.less = more & down;
      more_above = more_below, less_above = less_below;
    }
  }
  return distance;
}

}  // namespace graphrun
