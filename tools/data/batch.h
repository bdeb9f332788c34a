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

// A place in the training data. Epochs count from 1, batches of an epoch from 0.
struct BatchPosition {
  std::int64_t epoch = 1;
  std::int64_t batch = 0;
  friend bool operator==(const BatchPosition&, const BatchPosition&) = default;
};

struct Batch {
  Feeds feeds;  // by the names of the job's feeds
  std::int64_t rows = 0;
  std::vector<std::int64_t> steps;     // of each row: real steps of the first feed that is a sequence; 1 where none is
  std::int64_t tokens = 0;             // their sum
  BatchPosition position;              // this batch's own
  bool last = false;                   // of its epoch
  bool fresh = false;                  // STREAM: its first batch, before which the states are zero
  std::vector<std::int64_t> examples;  // their numbers in the data set; STREAM: none
};

// The values of one feed, one for each row, as INT32, or float32 where they are `numbers`, padded with 0: depth 0 [batch],
// 1 [time, batch], 2 [time, inner_time, batch]. Sizes are those of the longest, or what `sizes` gives the sequence axes (of
// FeedPlan::Feed).
Tensor pad(const std::vector<Nested>& values, int depth, bool numbers = false, const std::vector<std::int64_t>& sizes = {});

// By feed that is a sequence: real steps of each row.
using StepsByFeed = std::map<std::string, std::vector<std::int64_t>>;

// Tensors of the chosen feeds (their places in the plan). `fields` of each row, as Dataset::example gives them. `steps`, where
// it is given, is filled.
Batch make_batch(const FeedPlan& plan, const std::vector<std::size_t>& chosen, const std::vector<std::vector<Nested>>& fields,
                 StepsByFeed* steps = nullptr);

// The places in the plan of the feeds so named, all where `names` is empty. Throws InternalError for a name that is none.
std::vector<std::size_t> choose_feeds(const FeedPlan& plan, const std::vector<std::string>& names);
// The fields that they read.
std::set<std::string> fields_of(const FeedPlan& plan, const std::vector<std::size_t>& chosen);

}  // namespace graphrun
