// Which examples share a batch, and in what order: a pure function of lengths, rows, seed and epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace graphrun {

// Batch i is examples[begin[i]] to examples[begin[i + 1]].
struct BatchOrder {
  std::vector<std::int64_t> examples;
  std::vector<std::int64_t> begin{0};

  std::int64_t batches() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::span<const std::int64_t> batch(std::int64_t i) const {
    const std::size_t at = static_cast<std::size_t>(i);
    return {examples.data() + begin[at], static_cast<std::size_t>(begin[at + 1] - begin[at])};
  }
};

struct Shuffle {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t together = 1;  // batches of an update
};

// The limits on the size of a batch. 0 means no such limit; at least one is set.
struct BatchLimits {
  std::int64_t rows = 0;
  std::int64_t tokens = 0;  // rows times the longest of their lengths: the size of the padded batch
};

// Every example is in exactly one batch. Batches are as large as the limits allow; an example longer than `tokens` has a batch
// of its own. `lengths`: by example; if empty, examples are not sorted, and `tokens` counts examples. With `shuffle`, examples
// are shuffled, divided into pools of about kPoolUpdates updates and sorted by length within their pool, and the updates are
// shuffled. The batches of an update are neighbors in their pool, as the parts of one large batch would be: their lengths are
// similar, so processes that share them hardly wait for each other. Only an update that the end of a pool divides continues
// with the shortest of the next pool. If the number of batches is not a multiple of `together`, the last update has fewer;
// which batches these are is random. Without `shuffle`, examples are sorted by length, longest last. Ties are broken by
// `others` (empty, or one number per example), then by the original order. Memory: one number per example.
inline constexpr std::int64_t kPoolUpdates = 100;
BatchOrder order_batches(std::int64_t count, std::span<const std::int64_t> lengths, const BatchLimits& limits,
                         const std::optional<Shuffle>& shuffle, std::span<const std::int64_t> others = {});

// A Fisher-Yates shuffle of 0..count-1 that depends only on `key`: the same on every machine.
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t key);

}  // namespace graphrun
