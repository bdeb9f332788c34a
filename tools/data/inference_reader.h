// Reads lines to run a model on and groups them into batches; no record is left out. A batch never waits for input that has not
// been written. If more input is available than fits into a batch, the reader can read ahead and batch records of similar
// length, which reduces padding.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/data/batch.h"
#include "tools/data/records.h"

namespace graphrun {

struct InferenceBatch {
  std::vector<Record> records;        // in input order, including empty ones
  std::vector<std::int64_t> numbers;  // by record: its number in the input, from 0
  std::vector<std::int64_t> rows;     // by record: its row in the batch's tensors; -1 for an empty one
  Batch batch;                        // without feeds if all records are empty
  StepsByFeed steps;
  std::vector<std::uint64_t> hashes;               // by row: of the fields that are read
  std::vector<std::vector<std::int32_t>> prompts;  // by row; see ReadingOptions::prompts and ::beside
};

// Runs a batch and adds its line numbers to any error thrown.
void with_lines(const InferenceBatch& batch, const std::function<void()>& run);

struct ReadingOptions {
  Format read = Format::kLines;  // records in the data's format, or plain lines
  std::int64_t rows = 0;         // 0: the job's rows, or kRowsAtOnce if it has none
  // The number of records to read, if available, before the first one is returned; batches then consist of records of similar
  // length, longest first. If it is at most the size of a batch, batches consist of consecutive records.
  std::int64_t ahead = 0;
  std::vector<std::string> feeds;  // the model's feeds; fields that only other feeds read may be missing from the input
  // Instead of feeds: the only field to read, whose words begin each row. A blank record then has a row too, without words.
  std::string prompts = {};
  // Called with each record and its prompt; throws if the prompt is not allowed.
  std::function<void(const Record&, const std::vector<std::int32_t>&)> check_prompt = {};
  // Called once for each record, in input order: returns its words for InferenceBatch::prompts. What it throws counts as a
  // mistake in the record.
  std::function<std::vector<std::int32_t>()> beside = {};
  // Whether the words of the next record are available, or become available within that many milliseconds; absent: always.
  std::function<bool(int)> beside_ready = {};
  std::int64_t longest = 0;                          // units of a field of a record; 0: no limit
  bool refuse_longer = false;                        // longer records get no row, like empty ones; otherwise they are cut
  std::function<void(const Diagnostic&)> warn = {};  // called for each such record
  // Called for each line that is not text (BadLine); its record has no row. If absent, such a line ends reading.
  std::function<void(const Diagnostic&)> bad_line = {};
};

class InferenceReader {
 public:
  static constexpr std::int64_t kRowsAtOnce = 64;
  static constexpr std::int64_t kReadAhead = 4096;

  // `data`, `plan` (bound) and `vocabularies` must outlive it.
  InferenceReader(const DataSpec& data, const FeedPlan& plan, const Vocabularies& vocabularies,
                  std::unique_ptr<LineReader> lines, const ReadingOptions& options);

  // nullopt at the end. Throws UserError (kBadData) at an invalid line, after returning all records before it.
  std::optional<InferenceBatch> next();
  // Whether records that precede the last returned one are still waiting.
  bool is_ahead() const { return batches_ahead() > 0; }
  // For a caller that holds too many answers because an earlier one is missing: returns the waiting records in the input's
  // order, and reads fewer ahead next time.
  void return_to_order();
  // The least number of batches that the waiting records make.
  std::int64_t batches_ahead() const {
    return ahead_ > rows_ ? (static_cast<std::int64_t>(waiting_.size()) + rows_ - 1) / rows_ : 0;
  }

 private:
  // A record and its fields as numbers; without fields if it is empty.
  struct Encoded {
    Record record;
    std::int64_t number = 0;
    std::optional<std::vector<Nested>> fields;
    std::vector<std::int32_t> beside;
  };
  void fill();
  bool ready(int milliseconds) { return records_->ready(milliseconds) && (!beside_ready_ || beside_ready_(milliseconds)); }
  std::optional<Encoded> read();
  void limit(Encoded& encoded) const;
  std::vector<Encoded> take();
  InferenceBatch batch_of(std::vector<Encoded> taken) const;
  std::int64_t length_of(const Encoded& encoded) const;

  const DataSpec& data_;
  const FeedPlan& plan_;
  const Vocabularies& vocabularies_;
  const std::int64_t rows_;
  const std::int64_t most_ahead_;
  std::int64_t ahead_ = most_ahead_;
  bool is_in_order_ = false;  // whether the waiting records are in the input's order
  const std::int64_t longest_;
  const bool refuse_longer_;
  const std::function<void(const Diagnostic&)> warn_;
  const std::string prompts_;
  const std::function<void(const Record&, const std::vector<std::int32_t>&)> check_prompt_;
  const std::function<std::vector<std::int32_t>()> beside_;
  const std::function<bool(int)> beside_ready_;
  std::vector<std::size_t> chosen_;
  std::vector<const FieldSpec*> needed_;  // in the order of the job's fields; null if not read
  std::vector<std::size_t> read_fields_;  // those that are not null
  std::unique_ptr<RecordReader> records_;
  std::deque<Encoded> waiting_;  // records not returned yet, in the order in which they will be
  std::int64_t read_ = 0;        // records
  std::exception_ptr failure_;   // the error in the record after the waiting ones
};

}  // namespace graphrun
