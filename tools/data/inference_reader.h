// Lines to run a model on, as they come, in batches; no record is left out. A batch never waits for input that has not been
// written. Where more input is there than a batch holds, the reader can read ahead and batch records of similar length, which
// wastes less of a batch on padding.
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
  std::vector<Record> records;        // in the input's order, empty ones too
  std::vector<std::int64_t> numbers;  // of each record: its number in the input, from 0
  std::vector<std::int64_t> rows;     // of each record: its row in the batch's tensors; -1 for an empty one, which has none
  Batch batch;                        // without feeds where all records are empty
  StepsByFeed steps;
  std::vector<std::vector<std::int32_t>> prompts;  // by row, see ReadingOptions::prompts and ::beside
};

// Runs a batch; an error that it throws names the lines of the batch.
void with_lines(const InferenceBatch& batch, const std::function<void()>& run);

struct ReadingOptions {
  Format read = Format::kLines;  // records as the data has them, or plain lines
  std::int64_t rows = 0;         // 0: the job's, kRowsAtOnce where that has none
  // Records that are read before the first of them is given out, where so many are there; batches are then made of those of
  // similar length, the longest first. If it is not more than a batch holds, batches are of consecutive records.
  std::int64_t ahead = 0;
  std::vector<std::string> feeds;  // those of the model; fields that only other feeds read may be missing from the input
  // Instead of feeds: the only field to read, whose words each row begins with. A blank record then has a row too, with no
  // words.
  std::string prompts = {};
  // Called once for each record, in the input's order: words that are given beside it, for InferenceBatch::prompts. What it
  // throws counts as a mistake in the record.
  std::function<std::vector<std::int32_t>()> beside = {};
  // Whether those of the next record are there, or come within so many milliseconds; absent: always.
  std::function<bool(int)> beside_ready = {};
  std::int64_t longest = 0;                          // units of a field of a record; 0: no limit
  bool refuse_longer = false;                        // longer records get no row, like empty ones; else they are cut
  std::function<void(const Diagnostic&)> warn = {};  // called for each such record
  // Told of each line that is no text (BadLine); its record has no row. Without it such a line ends the reading.
  std::function<void(const Diagnostic&)> bad_line = {};
};

class InferenceReader {
 public:
  static constexpr std::int64_t kRowsAtOnce = 64;
  static constexpr std::int64_t kReadAhead = 4096;

  // `data`, `plan` (bound) and `vocabularies` must outlive it.
  InferenceReader(const DataSpec& data, const FeedPlan& plan, const Vocabularies& vocabularies,
                  std::unique_ptr<LineReader> lines, const ReadingOptions& options);

  // Nothing at the end. Throws UserError (kBadData) at the line that is wrong, after all before it were given out.
  std::optional<InferenceBatch> next();
  // Whether records that come before the last one given out are still to be given out.
  bool is_ahead() const { return batches_ahead() > 0; }
  // For a caller that holds too many answers because an earlier one is missing: the records at hand are given out in the
  // input's order from here on, and fewer are read ahead later.
  void return_to_order();
  // How many batches they make, at least.
  std::int64_t batches_ahead() const {
    return ahead_ > rows_ ? (static_cast<std::int64_t>(waiting_.size()) + rows_ - 1) / rows_ : 0;
  }

 private:
  // A record and its fields as numbers; none where it is empty.
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
  std::int64_t ahead_;
  bool is_in_order_ = false;  // the records that wait, by their numbers
  const std::int64_t longest_;
  const bool refuse_longer_;
  const std::function<void(const Diagnostic&)> warn_;
  const std::string prompts_;
  const std::function<std::vector<std::int32_t>()> beside_;
  const std::function<bool(int)> beside_ready_;
  std::vector<std::size_t> chosen_;
  std::vector<const FieldSpec*> needed_;  // by the order of the job's fields; null: not read
  std::unique_ptr<RecordReader> records_;
  std::deque<Encoded> waiting_;  // read and not given out, in the order in which they will be
  std::int64_t read_ = 0;        // records
  std::exception_ptr failure_;   // of the record after those
};

}  // namespace graphrun
