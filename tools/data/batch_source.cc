#include "tools/data/batch_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace graphrun {
namespace {

[[noreturn]] void bad_stream(const Location& at, std::string text, std::vector<std::string> notes = {}) {
  throw UserError(ExitCode::kBadData, {{Severity::kError, "E0650 bad-stream", at, std::move(text), std::move(notes)}});
}

}  // namespace

BatchSource::BatchSource(const DataSpec& data, const FeedPlan& plan, const Dataset& set, BatchOptions options)
    : data_(data),
      plan_(plan),
      set_(set),
      options_(std::move(options)),
      rows_(options_.rows > 0 ? options_.rows : data.rows),
      parts_(options_.rows > 0 ? 1 : data.parts),
      chosen_(choose_feeds(plan, options_.feeds)) {
  if (data.format == Format::kStream) {
    lay_out_stream();
    return;
  }
  if (!data.bucket_by.empty()) measure_lengths();
  order_ = order_of(epoch_);
}

BatchSource::~BatchSource() = default;

std::shared_ptr<const BatchOrder> BatchSource::order_of(std::int64_t epoch) const {
  if (options_.one_by_one) return std::make_shared<BatchOrder>(order_batches(set_.size(), {}, {1, 0}, std::nullopt));
  const std::int64_t together = lengths_.empty() ? 1 : options_.together;
  const std::optional<Shuffle> shuffle =
      options_.shuffle ? std::optional(Shuffle{options_.seed, epoch, together}) : std::nullopt;
  return std::make_shared<BatchOrder>(order_batches(set_.size(), lengths_, {rows_, data_.tokens}, shuffle, other_lengths_));
}

void BatchSource::measure_lengths() {
  const std::set<std::string> read = fields_of(plan_, chosen_);
  lengths_.assign(static_cast<std::size_t>(set_.size()), 0);
  other_lengths_ = lengths_;
  for (std::size_t field = 0; field < data_.fields.size(); ++field) {
    const bool buckets = data_.fields[field].name == data_.bucket_by;
    if (!buckets && read.count(data_.fields[field].name) == 0) continue;
    std::vector<std::int64_t>& lengths = buckets ? lengths_ : other_lengths_;
    for (std::int64_t e = 0; e < set_.size(); ++e) lengths[static_cast<std::size_t>(e)] += set_.steps(field, e);
  }
}

// A feed that is a field, or a slice of one, reads the data set directly.
void BatchSource::lay_out_stream() {
  const auto steps_of = [&](std::size_t field) { return set_.steps(field, 0); };
  std::size_t steps = 0;
  stream_storage_.reserve(chosen_.size());
  for (const std::size_t feed : chosen_) {
    if (const std::optional<FeedPlan::Run> run = plan_.run_of(feed, steps_of)) {
      stream_.push_back(set_.values(run->field, 0)
                            .subspan(static_cast<std::size_t>(run->begin), static_cast<std::size_t>(run->end - run->begin)));
    } else {
      stream_storage_.push_back(plan_.evaluate(feed, set_.example(0)).values);
      stream_.emplace_back(stream_storage_.back());
    }
    steps = stream_.back().size();
    if (steps != stream_.front().size()) {
      bad_stream(plan_.feeds()[feed].at,
                 fmt::format("feed '{}' has {} steps of the stream, feed '{}' {}; expected equally many",
                             plan_.feeds()[chosen_.front()].name, stream_.front().size(), plan_.feeds()[feed].name, steps));
    }
  }
  stream_steps_ = static_cast<std::int64_t>(steps) / rows_;
  if (stream_steps_ == 0) {
    bad_stream(options_.rows > 0 ? Location() : data_.at.rows,
               fmt::format("the stream has {} steps, too few for {} rows", steps, rows_), {"help: set data.batch.rows lower"});
  }
}

std::int64_t BatchSource::batches() const {
  if (data_.format == Format::kStream) return (stream_steps_ + data_.window - 1) / data_.window * parts_;
  return order_->batches();
}

std::int64_t BatchSource::too_long() const {
  if (data_.tokens == 0) return 0;
  return std::count_if(lengths_.begin(), lengths_.end(), [&](std::int64_t length) { return length > data_.tokens; });
}

std::int64_t BatchSource::unused_steps() const {
  return stream_.empty() ? 0 : static_cast<std::int64_t>(stream_.front().size()) - stream_steps_ * rows_;
}

Batch BatchSource::example_batch(const BatchOrder& order, const BatchPosition& at) const {
  return batch_of(order.batch(at.batch));
}

Batch BatchSource::batch_of(std::span<const std::int64_t> examples) const {
  std::vector<std::vector<Nested>> fields;
  fields.reserve(examples.size());
  for (const std::int64_t example : examples) fields.push_back(set_.example(example));
  Batch batch = batch_of(std::move(fields));
  batch.examples.assign(examples.begin(), examples.end());
  return batch;
}

Batch BatchSource::batch_of(std::vector<std::vector<Nested>> examples) const {
  for (std::vector<Nested>& fields : examples) {
    for (Nested& field : fields) {
      if (options_.longest > 0 && field.depth > 0 && field.steps() > options_.longest) field.cut(options_.longest);
    }
  }
  return make_batch(plan_, chosen_, examples);
}

// A made-up example: each field is as long as its longest in the set and, if steps are sequences, its first step is as long as
// the longest step. So a feed that joins fields is at least as long as any too.
std::vector<Nested> BatchSource::longest_example() const {
  const std::set<std::string> read = fields_of(plan_, chosen_);
  std::vector<Nested> longest = set_.example(0);
  for (std::size_t field = 0; field < data_.fields.size(); ++field) {
    if (read.count(data_.fields[field].name) == 0) continue;
    std::int64_t most = -1, example = 0;
    for (std::int64_t e = 0; e < set_.size(); ++e) {
      if (const std::int64_t steps = set_.steps(field, e); steps > most) most = steps, example = e;
    }
    longest[field] = set_.example(example)[field];
    if (field_depth(data_, data_.fields[field]) == kDeepest) lengthen_first_step(field, longest[field]);
  }
  return longest;
}

// Replaces the field's first step by the longest one of all examples.
void BatchSource::lengthen_first_step(std::size_t field, Nested& value) const {
  if (value.lengths.empty()) return;
  std::vector<std::int32_t> step(value.values.begin(), value.values.begin() + value.lengths[0]);
  for (std::int64_t e = 0; e < set_.size(); ++e) {
    const Nested other = set_.example(e)[field];
    auto begin = other.values.begin();
    for (const std::int32_t length : other.lengths) {
      if (static_cast<std::size_t>(length) > step.size()) step.assign(begin, begin + length);
      begin += length;
    }
  }
  value.values.erase(value.values.begin(), value.values.begin() + value.lengths[0]);
  value.values.insert(value.values.begin(), step.begin(), step.end());
  value.lengths[0] = static_cast<std::int32_t>(step.size());
}

bool BatchSource::lengths_differ() const {
  if (data_.format == Format::kStream) return false;
  const std::set<std::string> read = fields_of(plan_, chosen_);
  for (std::size_t field = 0; field < data_.fields.size(); ++field) {
    if (read.count(data_.fields[field].name) == 0) continue;
    const bool nested = field_depth(data_, data_.fields[field]) == kDeepest;
    for (std::int64_t e = 1; e < set_.size(); ++e) {
      if (set_.steps(field, e) != set_.steps(field, 0)) return true;
      if (nested && set_.example(e)[field].lengths != set_.example(0)[field].lengths) return true;
    }
  }
  return false;
}

// The padded size of a batch with these examples, over all fields.
std::int64_t BatchSource::padded_size(std::span<const std::int64_t> examples) const {
  const std::set<std::string> read = fields_of(plan_, chosen_);
  std::int64_t size = 0;
  for (std::size_t field = 0; field < data_.fields.size(); ++field) {
    std::int64_t longest = 0;
    if (read.count(data_.fields[field].name) != 0) {
      for (const std::int64_t example : examples) longest = std::max(longest, set_.steps(field, example));
    }
    size += longest * static_cast<std::int64_t>(examples.size());
  }
  return size;
}

Batch BatchSource::largest() const {
  if (data_.format == Format::kStream) return stream_batch({});
  if (data_.tokens > 0) {
    std::int64_t most = -1, at = 0;
    for (std::int64_t i = 0; i < order_->batches(); ++i) {
      if (const std::int64_t size = padded_size(order_->batch(i)); size > most) most = size, at = i;
    }
    return batch_of(order_->batch(at));
  }
  return batch_of(std::vector(static_cast<std::size_t>(std::min(rows_, set_.size())), longest_example()));
}

Batch BatchSource::stream_batch(const BatchPosition& at) const {
  const std::int64_t window = at.batch / parts_, rows = rows_ / parts_;
  const std::int64_t begin = window * data_.window, steps = std::min(data_.window, stream_steps_ - begin);
  Batch batch;
  batch.part = at.batch % parts_;
  batch.rows = rows;
  batch.steps.assign(static_cast<std::size_t>(rows), steps);
  batch.tokens = steps * rows;
  batch.fresh = window == 0;
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    Tensor tensor(DType::kInt32, {steps, rows});
    std::int32_t* out = tensor.data<std::int32_t>();
    for (std::int64_t t = 0; t < steps; ++t) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t row_begin = (batch.part * rows + row) * stream_steps_;
        out[t * rows + row] = stream_[i][static_cast<std::size_t>(row_begin + begin + t)];
      }
    }
    batch.feeds[plan_.feeds()[chosen_[i]].name] = std::move(tensor);
  }
  return batch;
}

void BatchSource::begin(const BatchPosition& at, const BatchShare& share) {
  reader_.reset();
  if (order_ && at.epoch != epoch_) order_ = order_of(at.epoch);
  epoch_ = at.epoch;
  const auto make = [this, order = order_, at = at, share]() mutable -> std::optional<Batch> {
    while (at.batch < batches() && share.owner(at.batch) != share.rank) ++at.batch;
    if (at.batch >= batches()) return std::nullopt;
    Batch batch = order ? example_batch(*order, at) : stream_batch(at);
    batch.position = at;
    batch.last = ++at.batch == batches();
    return batch;
  };
  reader_ = std::make_unique<Prefetcher<Batch>>(make, options_.ahead);
}

std::optional<Batch> BatchSource::next() {
  if (!reader_) begin({});
  return reader_->next();
}

}  // namespace graphrun
