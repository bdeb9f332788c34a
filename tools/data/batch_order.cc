#include "tools/data/batch_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/random.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

// Uniform in [0, below) for below < 2^63, from the high half of a product; the bias is less than below / 2^64.
std::int64_t draw_below(std::uint64_t key, std::uint64_t counter, std::int64_t below) {
  const Philox p = philox(key, static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0);
  const std::uint64_t bits = (std::uint64_t{p.v[0]} << 32) | p.v[1];
  return static_cast<std::int64_t>((static_cast<unsigned __int128>(bits) * static_cast<std::uint64_t>(below)) >> 64);
}

// The approximate number of examples in a batch.
std::int64_t usual_rows(std::int64_t count, std::span<const std::int64_t> lengths, const BatchLimits& limits) {
  if (limits.tokens == 0) return limits.rows;
  const std::int64_t all = lengths.empty() ? count : std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  const std::int64_t mean = std::max<std::int64_t>(all / std::max<std::int64_t>(count, 1), 1);
  const std::int64_t rows = std::max<std::int64_t>(limits.tokens / mean, 1);
  return limits.rows > 0 ? std::min(rows, limits.rows) : rows;
}

// Divides the examples into batches; no batch crosses the border of two pools.
void cut(BatchOrder& order, std::span<const std::int64_t> lengths, const BatchLimits& limits, std::int64_t pool) {
  const std::int64_t count = static_cast<std::int64_t>(order.examples.size());
  const auto length = [&](std::int64_t at) {
    return lengths.empty() ? 1 : lengths[static_cast<std::size_t>(order.examples[static_cast<std::size_t>(at)])];
  };
  for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {
    const std::int64_t border = std::min(count, (begin / pool + 1) * pool);
    std::int64_t longest = length(begin);
    for (end = begin + 1; end < border; ++end) {
      longest = std::max(longest, length(end));
      const std::int64_t rows = end - begin + 1;
      if ((limits.rows > 0 && rows > limits.rows) || (limits.tokens > 0 && rows * longest > limits.tokens)) break;
    }
    order.begin.push_back(end);
  }
}

// 0..count-1 in groups of `size` successive numbers, the groups shuffled. What is left over forms a smaller group, which comes
// last; its numbers follow those of a random number of whole groups.
std::vector<std::int64_t> shuffled_groups(std::int64_t count, std::int64_t size, std::uint64_t key) {
  const std::int64_t groups = count / size, rest = count % size;
  const std::int64_t before = rest == 0 ? groups : draw_below(fold_coordinate(key, 1), 0, groups + 1);  // groups
  std::vector<std::int64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(count));
  for (const std::int64_t group : shuffled(groups, key)) {
    const std::int64_t begin = group * size + (group < before ? 0 : rest);
    for (std::int64_t i = 0; i < size; ++i) numbers.push_back(begin + i);
  }
  for (std::int64_t i = 0; i < rest; ++i) numbers.push_back(before * size + i);
  return numbers;
}

}  // namespace

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t key) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(draw_below(key, static_cast<std::uint64_t>(i), i + 1))]);
  }
  return order;
}

BatchOrder order_batches(std::int64_t count, std::span<const std::int64_t> lengths, const BatchLimits& limits,
                         const std::optional<Shuffle>& shuffle, std::span<const std::int64_t> others) {
  const auto fits = [count](std::span<const std::int64_t> of) {
    return of.empty() || static_cast<std::int64_t>(of.size()) == count;
  };
  GRAPHRUN_CHECK((limits.rows > 0 || limits.tokens > 0) && fits(lengths) && fits(others), "order_batches");
  BatchOrder order;
  const auto shorter = [&](std::int64_t a, std::int64_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    if (lengths[i] != lengths[j] || others.empty()) return lengths[i] < lengths[j];
    return others[i] < others[j];
  };
  std::uint64_t key = 0;
  std::int64_t pool = count;
  if (shuffle) {
    key = fold_coordinate(fold_coordinate(0x6261746368657321ull, shuffle->seed), static_cast<std::uint64_t>(shuffle->epoch));
    order.examples = shuffled(count, key);
    const std::int64_t rows = usual_rows(count, lengths, limits);
    const std::int64_t most = count / kPoolUpdates;  // rows of an update with which there are several pools
    pool = rows <= most / shuffle->together ? rows * shuffle->together * kPoolUpdates : count;
  } else {
    order.examples.resize(static_cast<std::size_t>(count));
    std::iota(order.examples.begin(), order.examples.end(), 0);
  }
  if (!lengths.empty()) {
    for (std::int64_t begin = 0; begin < count; begin += pool) {
      std::stable_sort(order.examples.begin() + begin, order.examples.begin() + std::min(count, begin + pool), shorter);
    }
  }
  cut(order, lengths, limits, pool);
  if (!shuffle) return order;

  BatchOrder mixed;
  mixed.examples.reserve(order.examples.size());
  for (const std::int64_t place : shuffled_groups(order.batches(), shuffle->together, fold_coordinate(key, 1))) {
    const auto batch = order.batch(place);
    mixed.examples.insert(mixed.examples.end(), batch.begin(), batch.end());
    mixed.begin.push_back(static_cast<std::int64_t>(mixed.examples.size()));
  }
  return mixed;
}

}  // namespace graphrun
