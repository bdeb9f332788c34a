// Batches of a data set, epoch by epoch, read ahead in a thread. It can begin at any batch of any epoch, and then gives what it
// would have given there: a run that is taken up again sees the same batches.
#pragma once

#include <cstdint>
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
  bool shuffle = false;  // training; a stream is never shuffled
  std::uint64_t seed = 0;
  std::int64_t rows = 0;           // 0: the job's
  std::vector<std::string> feeds;  // empty: all
  std::size_t ahead = 4;           // batches
  bool one_by_one = false;         // each example a batch of its own, in the set's order
  std::int64_t longest = 0;        // units of a field of an example, of those with more the rest is left out; 0: no limit
};

// The batches of an epoch that one of several processes takes: those of each update in turn, by number.
struct BatchShare {
  int rank = 0, processes = 1;
  std::int64_t accumulate = 1;  // batches of an update
  std::int64_t first = 0;       // the batch of the epoch with which an update begins
  // Which process takes batch `number` of the epoch, which is not before `first`.
  int owner(std::int64_t number) const { return static_cast<int>((number - first) % accumulate % processes); }
};

class BatchSource {
 public:
  // `data`, `plan` (bound) and `set` must outlive it. Throws UserError (kBadData, E0650): a stream of fewer steps than rows, or
  // feeds of a stream that differ in length.
  BatchSource(const DataSpec& data, const FeedPlan& plan, const Dataset& set, BatchOptions options);
  ~BatchSource();

  // From here on next() gives the batches of this epoch from this one on, or the process's share of them; the first call of
  // next() without it begins at {1, 0}.
  void begin(const BatchPosition& at, const BatchShare& share = {});
  // The next batch; nothing at the end of the epoch, until begin() is called again. Throws what making the batch threw.
  std::optional<Batch> next();

  // A batch that needs as much memory as any of any epoch: all rows, and in each field the longest example there is.
  // Where `tokens` limits batches, the one of the present epoch that holds most.
  Batch largest() const;

  // In the epoch that begin() named, else in the first: where `tokens` limits batches, epochs differ.
  std::int64_t batches() const;
  std::int64_t unused_steps() const;  // STREAM: at its end, which do not fill all rows
  // Examples of which each is longer than a batch's `tokens`.
  std::int64_t too_long() const;

 private:
  std::shared_ptr<const BatchOrder> order_of(std::int64_t epoch) const;
  void lay_out_stream();
  void measure_lengths();
  Batch example_batch(const BatchOrder& order, const BatchPosition& at) const;
  Batch batch_of(std::span<const std::int64_t> examples) const;
  std::vector<std::int64_t> longest_examples() const;
  std::int64_t padded_size(std::span<const std::int64_t> examples) const;
  Batch stream_batch(const BatchPosition& at) const;

  const DataSpec& data_;
  const FeedPlan& plan_;
  const Dataset& set_;
  BatchOptions options_;
  std::int64_t rows_;
  std::vector<std::size_t> chosen_;
  std::vector<std::int64_t> lengths_;                      // of bucket_by; empty: not bucketed
  std::vector<std::int64_t> other_lengths_;                // of the other fields that feeds read, their sum
  std::int64_t epoch_ = 1;                                 // of order_
  std::shared_ptr<const BatchOrder> order_;                // null: a stream
  std::vector<std::span<const std::int32_t>> stream_;      // of each chosen feed: a part of the data set,
  std::vector<std::vector<std::int32_t>> stream_storage_;  // or made of it
  std::int64_t stream_steps_ = 0;                          // of each row
  std::unique_ptr<Prefetcher<Batch>> reader_;
};

}  // namespace graphrun
