// Examples as they stand in files: records, and what each field sees of one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/data/lines.h"
#include "tools/data/spec.h"

namespace graphrun {

// One example: a line, or a sentence of a CONLL file.
struct Record {
  std::vector<std::string> lines;                 // CONLL: of the sentence, without the blank one; else one line
  std::vector<std::vector<std::string>> columns;  // CONLL: of each line; TSV: of the one line; else empty
  std::int64_t line = 0;                          // of the first line in its file, from 1
  bool empty = false;                             // nothing but white space, or a sentence without lines
  bool closed = false;                            // CONLL: a blank line ended it, not the end of the text

  const std::string& text() const { return lines.front(); }
};

// Reads records of a format from lines.
class RecordReader {
 public:
  // `columns`: CONLL and TSV must have at least so many. `words`: CONLL's tokens are the words of a line instead.
  RecordReader(std::unique_ptr<LineReader> lines, Format format, int columns, bool words = false);

  // False at the end. Throws UserError (kBadData): LineReader's, too few columns or another number of them than in the line
  // before (E0643).
  bool next(Record& record);
  // Whether next() can answer soon, see LineReader::ready. For CONLL a first line is not yet a sentence, so it may block until
  // the sentence is whole.
  bool ready(int milliseconds) { return lines_->ready(milliseconds); }
  const std::string& name() const { return lines_->name(); }

 private:
  bool next_sentence(Record& record);
  std::vector<std::string> split_columns(const std::string& line);

  std::unique_ptr<LineReader> lines_;
  Format format_;
  int columns_;
  bool words_;
  std::size_t expected_ = 0;  // columns of the lines before; 0: none read yet
};

// What a field sees of a record: the symbols, and at depth 2 how many of them each token has.
struct Units {
  std::vector<std::string> symbols;
  std::vector<std::int32_t> lengths;
};
Units units_of(const DataSpec& data, const FieldSpec& field, const Record& record);

// The least number of columns that these fields need.
int columns_needed(const DataSpec& data, const std::vector<const FieldSpec*>& fields);

}  // namespace graphrun
