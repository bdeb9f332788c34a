#include "tools/data/inference_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/data/dataset_reader.h"
#include "tools/data/told_at.h"

namespace graphrun {
namespace {

constexpr int kPatience = 5;                               // milliseconds to wait for the rest of a batch
constexpr std::size_t kMostAhead = std::size_t{64} << 20;  // bytes of text and records to read ahead

}  // namespace

InferenceReader::InferenceReader(const DataSpec& data, const FeedPlan& plan, const Vocabularies& vocabularies,
                                 std::unique_ptr<LineReader> lines, const ReadingOptions& options)
    : data_(data),
      plan_(plan),
      vocabularies_(vocabularies),
      rows_(options.rows > 0 ? options.rows
            : data.rows > 0  ? data.rows
                             : kRowsAtOnce),
      most_ahead_(options.ahead),
      longest_(options.longest),
      refuse_longer_(options.refuse_longer),
      warn_(options.warn),
      prompts_(options.prompts),
      check_prompt_(options.check_prompt),
      beside_(options.beside),
      beside_ready_(options.beside_ready),
      chosen_(prompts_.empty() ? choose_feeds(plan, options.feeds) : std::vector<std::size_t>()) {
  const std::set<std::string> fields = prompts_.empty() ? fields_of(plan, chosen_) : std::set<std::string>{prompts_};
  std::vector<const FieldSpec*> read;
  for (const FieldSpec& field : data.fields) {
    needed_.push_back(fields.count(field.name) ? &field : nullptr);
    if (!needed_.back()) continue;
    read.push_back(&field);
    read_fields_.push_back(needed_.size() - 1);
  }
  records_ = std::make_unique<RecordReader>(std::move(lines), layout_of_input(data, read, options.read));
  records_->pass_over(options.bad_line);
}

std::optional<InferenceReader::Encoded> InferenceReader::read() {
  Encoded next;
  if (!records_->next(next.record)) return std::nullopt;
  next.number = read_++;
  if (beside_) next.beside = beside_();
  const bool blank = next.record.empty && !next.record.bad;
  if (next.record.empty && !(blank && !prompts_.empty())) return next;
  next.fields.emplace(data_.fields.size());
  for (std::size_t i = 0; i < needed_.size(); ++i) {
    if (!needed_[i] || blank) continue;
    (*next.fields)[i] = encode(data_, *needed_[i], vocabularies_, next.record);
    if (check_prompt_) check_prompt_(next.record, (*next.fields)[i].values);
  }
  if (longest_ > 0) limit(next);
  if (next.fields) {
    told_at(next.record.place(), [&] {
      for (const std::size_t feed : chosen_) {
        if (plan_.may_not_fit(feed)) plan_.evaluate(feed, *next.fields);
      }
    });
  }
  return next;
}

void InferenceReader::limit(Encoded& encoded) const {
  const Record& record = encoded.record;
  for (std::size_t i = 0; encoded.fields && i < needed_.size(); ++i) {
    Nested& field = (*encoded.fields)[i];
    const std::int64_t steps = needed_[i] && field.depth > 0 ? field.steps() : 0;
    if (steps <= longest_) continue;
    if (warn_) {
      warn_({Severity::kWarning,
             "E0659 long-line",
             record.place(needed_[i]->column),
             fmt::format("'{}' has {} units here, at most {} are read: {}", needed_[i]->name, steps, longest_,
                         refuse_longer_ ? "the line is skipped, and its output is empty" : "the rest is left out"),
             {"note: `longest` and `too_long` in the job's infer block set this"}});
    }
    if (refuse_longer_) {
      encoded.fields.reset();
    } else {
      field.cut(longest_);
    }
  }
}

// The length of the field that batches are sorted by; if it is not read, of the longest field that is.
std::int64_t InferenceReader::length_of(const Encoded& encoded) const {
  std::int64_t longest = 0;
  for (std::size_t i = 0; encoded.fields && i < needed_.size(); ++i) {
    const Nested& field = (*encoded.fields)[i];
    if (needed_[i] == nullptr || field.depth == 0) continue;
    if (needed_[i]->name == data_.bucket_by) return field.steps();
    longest = std::max(longest, field.steps());
  }
  return longest;
}

// Reads available input, up to a batch or, when reading ahead, up to the limit once all earlier records have been returned.
void InferenceReader::fill() {
  const bool sorts = ahead_ > rows_;
  if (failure_ || (sorts && !waiting_.empty())) return;
  if (sorts && !is_in_order_) ahead_ = ahead_ > most_ahead_ / 2 ? most_ahead_ : 2 * ahead_;  // it had been halved
  const auto least = static_cast<std::size_t>(rows_), most = static_cast<std::size_t>(sorts ? ahead_ : rows_);
  std::size_t bytes = 0;
  try {
    while (waiting_.size() < most && bytes < kMostAhead) {
      if (!waiting_.empty() && !ready(waiting_.size() < least ? kPatience : 0)) break;
      std::optional<Encoded> next = read();
      if (!next) break;
      bytes += sizeof(Encoded);
      for (const std::string& line : next->record.lines) bytes += line.size();
      waiting_.push_back(std::move(*next));
    }
  } catch (const UserError&) {
    if (waiting_.empty()) throw;
    failure_ = std::current_exception();
  }
  is_in_order_ = !sorts;
  if (!sorts) return;
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [&](const Encoded& a, const Encoded& b) { return length_of(a) > length_of(b); });
}

void InferenceReader::return_to_order() {
  if (std::exchange(is_in_order_, true)) return;
  std::sort(waiting_.begin(), waiting_.end(), [](const Encoded& a, const Encoded& b) { return a.number < b.number; });
  if (ahead_ > rows_) ahead_ = std::max(ahead_ / 2, rows_ + 1);
}

// The records of the next batch: the first waiting ones, as many as the limits allow.
std::vector<InferenceReader::Encoded> InferenceReader::take() {
  std::vector<Encoded> taken;
  std::int64_t rows = 0, longest = 0;
  while (!waiting_.empty() && static_cast<std::int64_t>(taken.size()) < rows_) {
    Encoded& next = waiting_.front();
    if (next.fields) {
      longest = std::max(longest, length_of(next));
      if (data_.tokens > 0 && rows > 0 && (rows + 1) * longest > data_.tokens) break;
      ++rows;
    }
    taken.push_back(std::move(next));
    waiting_.pop_front();
  }
  std::sort(taken.begin(), taken.end(), [](const Encoded& a, const Encoded& b) { return a.number < b.number; });
  return taken;
}

InferenceBatch InferenceReader::batch_of(std::vector<Encoded> taken) const {
  InferenceBatch batch;
  std::vector<std::vector<Nested>> fields;
  const DataSpec& data = data_;
  for (Encoded& next : taken) {
    batch.rows.push_back(next.fields ? static_cast<std::int64_t>(fields.size()) : -1);
    batch.numbers.push_back(next.number);
    batch.records.push_back(std::move(next.record));
    if (!next.fields) continue;
    batch.hashes.push_back(hash_of(*next.fields, read_fields_));
    if (!prompts_.empty()) {
      const auto prompt = static_cast<std::size_t>(data.field(prompts_) - data.fields.data());
      batch.prompts.push_back((*next.fields)[prompt].values);
    }
    if (beside_) batch.prompts.push_back(std::move(next.beside));
    fields.push_back(std::move(*next.fields));
  }
  if (!fields.empty()) batch.batch = make_batch(plan_, chosen_, fields, &batch.steps);
  return batch;
}

std::optional<InferenceBatch> InferenceReader::next() {
  fill();
  if (waiting_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  return batch_of(take());
}

void with_lines(const InferenceBatch& batch, const std::function<void()>& run) {
  try {
    run();
  } catch (const UserError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    const Record &first = batch.records.front(), &last = batch.records.back();
    const bool consecutive = batch.numbers.back() - batch.numbers.front() < static_cast<std::int64_t>(batch.numbers.size());
    const std::string lines = consecutive ? fmt::format("lines {} to {}", first.line, last.line)
                                          : fmt::format("{} lines from {} to {}", batch.records.size(), first.line, last.line);
    diagnostics.front().notes.push_back(
        first.line == last.line ? fmt::format("note: of line {} of '{}'", first.line, first.file(0))
                                : fmt::format("note: of a batch of {} of '{}'; --rows 1 shows which", lines, first.file(0)));
    throw UserError(error.exit_code(), std::move(diagnostics));
  }
}

}  // namespace graphrun
