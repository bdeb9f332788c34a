// Lines to run a model on, as they come: batches of consecutive records, in order, nothing left out. A batch ends when it is
// full or when nothing more is there to read, so that an answer never waits for input that has not been written.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/data/batch.h"
#include "tools/data/records.h"

namespace graphrun {

struct InferenceBatch {
  std::vector<Record> records;     // every one, empty ones too
  std::vector<std::int64_t> rows;  // of each record: its row in the batch's tensors; -1 for an empty one, which has none
  Batch batch;                     // without feeds where all records are empty
  StepsByFeed steps;
  std::vector<std::vector<std::int32_t>> prompts;  // by row, see ReadingOptions
};

// Runs a batch; an error that it throws names the lines of the batch.
void with_lines(const InferenceBatch& batch, const std::function<void()>& run);

struct ReadingOptions {
  Format read = Format::kLines;    // records as the data has them, or plain lines
  std::int64_t rows = 0;           // 0: the job's, kRowsAtOnce where that has none
  std::vector<std::string> feeds;  // those of the model; fields that only other feeds read may be missing from the input
  // Instead of feeds: the only field to read, whose words each row begins with. A blank record then has a row too, with no
  // words.
  std::string prompts = {};
  std::int64_t longest = 0;                          // units of a field of a record; 0: no limit
  bool refuse_longer = false;                        // longer records get no row, like empty ones; else they are cut
  std::function<void(const Diagnostic&)> warn = {};  // called for each such record
  // Told of each line that is no text (BadLine); its record has no row. Without it such a line ends the reading.
  std::function<void(const Diagnostic&)> bad_line = {};
};

class InferenceReader {
 public:
  static constexpr std::int64_t kRowsAtOnce = 64;

  // `data`, `plan` (bound) and `vocabularies` must outlive it.
  InferenceReader(const DataSpec& data, const FeedPlan& plan, const Vocabularies& vocabularies,
                  std::unique_ptr<LineReader> lines, const ReadingOptions& options);

  // Nothing at the end. Throws UserError (kBadData) at the line that is wrong, after all before it were given out.
  std::optional<InferenceBatch> next();

 private:
  // A record and its fields as numbers; none where it is empty.
  struct Encoded {
    Record record;
    std::optional<std::vector<Nested>> fields;
  };
  std::optional<Encoded> read();
  void limit(Encoded& encoded) const;
  bool fits(const Encoded& next, std::int64_t rows, std::int64_t longest) const;
  std::int64_t length_of(const Encoded& encoded) const;

  const DataSpec& data_;
  const FeedPlan& plan_;
  const Vocabularies& vocabularies_;
  std::int64_t rows_;
  const std::int64_t longest_;
  const bool refuse_longer_;
  const std::function<void(const Diagnostic&)> warn_;
  const std::string prompts_;
  std::vector<std::size_t> chosen_;
  std::vector<const FieldSpec*> needed_;  // by the order of the job's fields; null: not read
  std::unique_ptr<RecordReader> records_;
  std::optional<Encoded> waiting_;  // read, but too long for the last batch
  std::exception_ptr failure_;      // of the record after the last batch
};

}  // namespace graphrun
