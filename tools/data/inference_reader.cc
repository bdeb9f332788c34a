#include "tools/data/inference_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/data/dataset_reader.h"
#include "tools/data/told_at.h"

namespace graphrun {
namespace {

constexpr int kPatience = 5;  // milliseconds to wait for the rest of a batch

}  // namespace

InferenceReader::InferenceReader(const DataSpec& data, const FeedPlan& plan, const Vocabularies& vocabularies,
                                 std::unique_ptr<LineReader> lines, const ReadingOptions& options)
    : data_(data),
      plan_(plan),
      vocabularies_(vocabularies),
      rows_(options.rows > 0 ? options.rows
            : data.rows > 0  ? data.rows
                             : kRowsAtOnce),
      longest_(options.longest),
      refuse_longer_(options.refuse_longer),
      warn_(options.warn),
      prompts_(options.prompts),
      chosen_(prompts_.empty() ? choose_feeds(plan, options.feeds) : std::vector<std::size_t>()) {
  const std::set<std::string> fields = prompts_.empty() ? fields_of(plan, chosen_) : std::set<std::string>{prompts_};
  std::vector<const FieldSpec*> read;
  for (const FieldSpec& field : data.fields) {
    needed_.push_back(fields.count(field.name) ? &field : nullptr);
    if (needed_.back()) read.push_back(&field);
  }
  records_ = std::make_unique<RecordReader>(std::move(lines), layout_of_input(data, read, options.read));
  records_->pass_over(options.bad_line);
}

std::optional<InferenceReader::Encoded> InferenceReader::read() {
  if (waiting_) return std::exchange(waiting_, std::nullopt);
  Encoded next;
  if (!records_->next(next.record)) return std::nullopt;
  const bool blank = next.record.empty && !next.record.bad;
  if (next.record.empty && !(blank && !prompts_.empty())) return next;
  next.fields.emplace(data_.fields.size());
  for (std::size_t i = 0; i < needed_.size(); ++i) {
    if (needed_[i] && !blank) (*next.fields)[i] = encode(data_, *needed_[i], vocabularies_, next.record);
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
                         refuse_longer_ ? "the line is left out, and comes out empty" : "the rest is left out"),
             {"note: `longest` and `too_long` of the job's infer block say so"}});
    }
    if (refuse_longer_) {
      encoded.fields.reset();
    } else {
      field.cut(longest_);
    }
  }
}

// Of the field that batches go by.
std::int64_t InferenceReader::length_of(const Encoded& encoded) const {
  for (std::size_t i = 0; encoded.fields && i < needed_.size(); ++i) {
    if (needed_[i] && needed_[i]->name == data_.bucket_by) return (*encoded.fields)[i].steps();
  }
  return 0;
}

bool InferenceReader::fits(const Encoded& next, std::int64_t rows, std::int64_t longest) const {
  return data_.tokens == 0 || rows == 0 || !next.fields || (rows + 1) * std::max(longest, length_of(next)) <= data_.tokens;
}

std::optional<InferenceBatch> InferenceReader::next() {
  if (failure_) std::rethrow_exception(failure_);
  InferenceBatch batch;
  std::vector<std::vector<Nested>> fields;
  std::int64_t longest = 0;
  try {
    while (static_cast<std::int64_t>(batch.records.size()) < rows_) {
      if (!waiting_ && !batch.records.empty() && !records_->ready(kPatience)) break;
      std::optional<Encoded> next = read();
      if (!next) break;
      if (!fits(*next, static_cast<std::int64_t>(fields.size()), longest)) {
        waiting_ = std::move(next);
        break;
      }
      longest = std::max(longest, length_of(*next));
      batch.rows.push_back(next->fields ? static_cast<std::int64_t>(fields.size()) : -1);
      if (next->fields) fields.push_back(std::move(*next->fields));
      batch.records.push_back(std::move(next->record));
    }
  } catch (const UserError&) {
    if (batch.records.empty()) throw;
    failure_ = std::current_exception();
  }
  if (batch.records.empty()) return std::nullopt;
  if (!fields.empty()) batch.batch = make_batch(plan_, chosen_, fields, &batch.steps);
  if (!prompts_.empty()) {
    const auto field = static_cast<std::size_t>(data_.field(prompts_) - data_.fields.data());
    for (std::vector<Nested>& row : fields) batch.prompts.push_back(std::move(row[field].values));
  }
  return batch;
}

void with_lines(const InferenceBatch& batch, const std::function<void()>& run) {
  try {
    run();
  } catch (const UserError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    const Record &first = batch.records.front(), &last = batch.records.back();
    diagnostics.front().notes.push_back(first.line == last.line
                                            ? fmt::format("note: of line {} of '{}'", first.line, first.file(0))
                                            : fmt::format("note: of a batch of lines {} to {} of '{}'; --rows 1 tells which",
                                                          first.line, last.line, first.file(0)));
    throw UserError(error.exit_code(), std::move(diagnostics));
  }
}

}  // namespace graphrun
