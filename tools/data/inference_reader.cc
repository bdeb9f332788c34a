#include "tools/data/inference_reader.h"

#include <fmt/format.h>

#include "tools/data/dataset.h"

namespace graphrun {
namespace {

constexpr int kPatience = 5;  // milliseconds to wait for the rest of a batch

}  // namespace

InferenceReader::InferenceReader(const DataSpec& data, const FeedPlan& plan, const Vocabularies& vocabularies,
                                 std::unique_ptr<LineReader> lines, const Options& options)
    : data_(data),
      plan_(plan),
      vocabularies_(vocabularies),
      rows_(options.rows > 0 ? options.rows : data.rows),
      chosen_(choose_feeds(plan, options.feeds)) {
  const std::set<std::string> fields = fields_of(plan, chosen_);
  std::vector<const FieldSpec*> read;
  for (const FieldSpec& field : data.fields) {
    needed_.push_back(fields.count(field.name) ? &field : nullptr);
    if (needed_.back()) read.push_back(&field);
  }
  const bool words = data.format == Format::kConll && !options.conll;
  const int columns = columns_needed(data, read);
  if (words && columns > 1)
    throw UserError(ExitCode::kBadData, "E0643 wrong-columns",
                    fmt::format("plain lines have one column of words; the job's fields need {}", columns));
  records_ = std::make_unique<RecordReader>(std::move(lines), data.format, columns, words);
}

void InferenceReader::add(InferenceBatch& batch, Record record, std::vector<std::vector<Nested>>& fields) {
  if (record.empty) {
    batch.rows.push_back(-1);
  } else {
    std::vector<Nested> example(data_.fields.size());
    for (std::size_t i = 0; i < needed_.size(); ++i)
      if (needed_[i]) example[i] = encode(data_, *needed_[i], vocabularies_.at(needed_[i]->name), record, records_->name());
    batch.rows.push_back(static_cast<std::int64_t>(fields.size()));
    fields.push_back(std::move(example));
  }
  batch.records.push_back(std::move(record));
}

std::optional<InferenceBatch> InferenceReader::next() {
  if (failure_) std::rethrow_exception(failure_);
  InferenceBatch batch;
  std::vector<std::vector<Nested>> fields;
  try {
    while (static_cast<std::int64_t>(batch.records.size()) < rows_) {
      if (!batch.records.empty() && !records_->ready(kPatience)) break;
      Record record;
      if (!records_->next(record)) break;
      add(batch, std::move(record), fields);
    }
  } catch (const UserError&) {
    if (batch.records.empty()) throw;
    failure_ = std::current_exception();
  }
  if (batch.records.empty()) return std::nullopt;
  if (!fields.empty()) batch.batch = make_batch(plan_, chosen_, fields);
  return batch;
}

}  // namespace graphrun
