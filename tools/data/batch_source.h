// Batches of a data set, epoch by epoch, read ahead in a thread. It can start at any batch of any epoch and yields the same
// batches from there on, so a resumed run sees the same data.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/data/batch.h"
#include "tools/data/batch_order.h"
#include "tools/data/dataset.h"
#include "tools/data/prefetch.h"

namespace graphrun {

struct BatchOptions {
  bool shuffle = false;  // for training; a stream is never shuffled
  std::uint64_t seed = 0;
  std::int64_t rows = 0;           // 0: as the job says; otherwise a stream has no parts
  std::vector<std::string> feeds;  // empty: all
  std::size_t ahead = 4;           // batches
  bool one_by_one = false;         // each example is a batch of its own, in the order of the set
  std::int64_t longest = 0;        // units of a field of an example; longer ones are cut; 0: no limit
  std::int64_t together = 1;       // batches of an update, whose examples have similar lengths if there is a bucket_by
};

// Which batches of an epoch one of several processes computes. The processes take the batches of a cycle in turn: those of an
// update, or those of a stream's window, so that each part of the stream stays in one process.
struct BatchShare {
  int rank = 0, processes = 1;
  std::int64_t cycle = 1;  // number of batches
  std::int64_t first = 0;  // a batch that begins a cycle
  // The process that computes batch `number` of the epoch; `number` is at least `first`.
  int owner(std::int64_t number) const { return static_cast<int>((number - first) % cycle % processes); }
  // Batches of a set that are not part of updates: number n belongs to process n mod N.
  static BatchShare in_turn(int rank, int processes) { return {rank, processes, std::numeric_limits<std::int64_t>::max(), 0}; }
};

class BatchSource {
 public:
  // `data`, `plan` (bound) and `set` must outlive it. Throws UserError (kBadData, E0650) if a stream has fewer steps than rows,
  // or if feeds of a stream differ in length.
  BatchSource(const DataSpec& data, const FeedPlan& plan, const Dataset& set, BatchOptions options);
  ~BatchSource();

  // Makes next() continue with this batch of this epoch, and return only the batches of this share. Without a call, next()
  // begins at {1, 0}.
  void begin(const BatchPosition& at, const BatchShare& share = {});
  // The next batch; nullopt at the end of the epoch, until begin() is called again. Throws what making the batch threw.
  std::optional<Batch> next();

  // A batch that needs at least as much memory as any batch of any epoch: all rows, each field as long as its longest in the
  // set. If `tokens` limits batches, the largest batch of the current epoch.
  Batch largest() const;

  // The number of batches in the epoch of begin(), or in the first. If `tokens` limits batches, epochs differ.
  std::int64_t batches() const;
  std::int64_t unused_steps() const;  // STREAM: steps at its end that do not fill all rows
  // Whether batches of as many rows may take different times, because examples have different lengths.
  bool lengths_differ() const;
  // The number of examples that are longer than a batch's `tokens`.
  std::int64_t too_long() const;

 private:
  std::shared_ptr<const BatchOrder> order_of(std::int64_t epoch) const;
  void lay_out_stream();
  void measure_lengths();
  Batch example_batch(const BatchOrder& order, const BatchPosition& at) const;
  Batch batch_of(std::span<const std::int64_t> examples) const;
  Batch batch_of(std::vector<std::vector<Nested>> examples) const;
  std::vector<Nested> longest_example() const;
  void lengthen_first_step(std::size_t field, Nested& value) const;
  std::int64_t padded_size(std::span<const std::int64_t> examples) const;
  Batch stream_batch(const BatchPosition& at) const;

  const DataSpec& data_;
  const FeedPlan& plan_;
  const Dataset& set_;
  BatchOptions options_;
  std::int64_t rows_, parts_;
  std::vector<std::size_t> chosen_;
  std::vector<std::int64_t> lengths_;                      // lengths of bucket_by; empty if there is none
  std::vector<std::int64_t> other_lengths_;                // sums of the lengths of the other fields that feeds read
  std::int64_t epoch_ = 1;                                 // epoch of order_
  std::shared_ptr<const BatchOrder> order_;                // null for a stream
  std::vector<std::span<const std::int32_t>> stream_;      // by chosen feed: a part of the data set,
  std::vector<std::vector<std::int32_t>> stream_storage_;  // or of this storage
  std::int64_t stream_steps_ = 0;                          // steps of each row
  std::unique_ptr<Prefetcher<Batch>> reader_;
};

}  // namespace graphrun
