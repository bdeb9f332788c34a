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
};

// How large a batch may be; 0: no such limit, but one of them is set.
struct BatchLimits {
  std::int64_t rows = 0;
  std::int64_t tokens = 0;  // rows times the longest of their lengths: what the padded batch holds
};

// Every example stands in exactly one batch, each as large as the limits let it; an example longer than `tokens` has one of its
// own. `lengths`: of each example; empty: examples are not sorted, and `tokens` counts examples. With `shuffle`: examples are
// shuffled, cut into pools of about kPoolBatches batches, sorted by length within their pool, and the batches shuffled.
// Without: sorted by length, longest last. Among examples of one length `others` (empty, or one for each) decides, what is
// equal there stays as it stands. What it takes in memory is a number for each example.
inline constexpr std::int64_t kPoolBatches = 100;
BatchOrder order_batches(std::int64_t count, std::span<const std::int64_t> lengths, const BatchLimits& limits,
                         const std::optional<Shuffle>& shuffle, std::span<const std::int64_t> others = {});

// Fisher and Yates's shuffle of 0..count-1, keyed: the same on every machine.
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t key);

}  // namespace graphrun
