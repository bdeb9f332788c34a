// A batch: examples padded into tensors, time first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/execute/executable.h"
#include "runtime/tensor/tensor.h"
#include "tools/data/feed_plan.h"

namespace graphrun {

// A position in the training data. Epochs count from 1, batches of an epoch from 0.
struct BatchPosition {
  std::int64_t epoch = 1;
  std::int64_t batch = 0;
  friend bool operator==(const BatchPosition&, const BatchPosition&) = default;
};

struct Batch {
  Feeds feeds;  // by the names of the job's feeds
  std::int64_t rows = 0;
  std::vector<std::int64_t> steps;     // by row: real steps of the first feed that is a sequence; 1 if there is none
  std::int64_t tokens = 0;             // their sum
  BatchPosition position;              // the position of this batch
  bool last = false;                   // the last batch of its epoch
  bool fresh = false;                  // STREAM: a batch of the first window, before which states are zero
  std::int64_t part = 0;               // STREAM: which of the groups of rows
  std::vector<std::int64_t> examples;  // their numbers in the data set; empty for STREAM
};

// The values of one feed, one for each row, padded with 0: INT32, or float32 for `numbers`. Depth 0 gives [batch], 1 [time,
// batch], 2 [time, inner_time, batch]. Sizes are those of the longest value, or the sizes of sequence axes in `sizes`
// (FeedPlan::Feed).
Tensor pad(const std::vector<Nested>& values, int depth, bool numbers = false, const std::vector<std::int64_t>& sizes = {});

// By feed that is a sequence: the real steps of each row.
using StepsByFeed = std::map<std::string, std::vector<std::int64_t>>;

// Makes tensors of the chosen feeds (indices in the plan). `fields`: by row, as Dataset::example returns them. Fills `steps`
// unless it is null.
Batch make_batch(const FeedPlan& plan, const std::vector<std::size_t>& chosen, const std::vector<std::vector<Nested>>& fields,
                 StepsByFeed* steps = nullptr);

// A hash of these fields of an example (indices in the job). `fields`: as Dataset::example returns them.
std::uint64_t hash_of(const std::vector<Nested>& fields, const std::vector<std::size_t>& chosen);

// The indices in the plan of the named feeds; all feeds if `names` is empty. Throws InternalError for an unknown name.
std::vector<std::size_t> choose_feeds(const FeedPlan& plan, const std::vector<std::string>& names);
// The fields that these feeds read.
std::set<std::string> fields_of(const FeedPlan& plan, const std::vector<std::size_t>& chosen);

}  // namespace graphrun
