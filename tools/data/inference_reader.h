// Lines to run a model on, as they come: batches of consecutive records, in order, nothing left out. A batch ends when it is
// full or when nothing more is there to read, so that an answer never waits for input that has not been written.
#pragma once

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
};

class InferenceReader {
 public:
  struct Options {
    bool conll = false;              // records are sentences with columns; else each line is one
    std::int64_t rows = 0;           // 0: the job's
    std::vector<std::string> feeds;  // that the model needs; the fields of the others need not be in the input
  };
  // `data`, `plan` (bound) and `vocabularies` must outlive it.
  InferenceReader(const DataSpec& data, const FeedPlan& plan, const Vocabularies& vocabularies,
                  std::unique_ptr<LineReader> lines, const Options& options);

  // Nothing at the end. Throws UserError (kBadData) at the line that is wrong, after all before it were given out.
  std::optional<InferenceBatch> next();

 private:
  void add(InferenceBatch& batch, Record record, std::vector<std::vector<Nested>>& fields);

  const DataSpec& data_;
  const FeedPlan& plan_;
  const Vocabularies& vocabularies_;
  std::int64_t rows_;
  std::vector<std::size_t> chosen_;
  std::vector<const FieldSpec*> needed_;  // by the order of the job's fields; null: not read
  std::unique_ptr<RecordReader> records_;
  std::exception_ptr failure_;  // of the record after the last batch
};

}  // namespace graphrun
