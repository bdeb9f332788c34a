// Examples as they stand in files: records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/data/spec.h"
#include "tools/text/lines.h"

namespace graphrun {

// One example: a line, a sentence of a CONLL file, one line each of files side by side, an object.
struct Record {
  std::vector<std::string> lines;                         // CONLL: of the sentence, without the blank one; else one line
  std::vector<std::vector<std::string>> columns;          // CONLL: of each line; TSV: of the one line; PARALLEL: of each file
  std::shared_ptr<const nlohmann::json> object;           // JSONL
  std::int64_t line = 0;                                  // of the first line in its file, from 1
  bool empty = false;                                     // nothing but white space, or a sentence without lines
  bool bad = false;                                       // empty because a line of it is no text
  bool closed = false;                                    // CONLL: a blank line ended it, not the end of the text
  std::shared_ptr<const std::vector<std::string>> files;  // where it stands, for messages; PARALLEL: by column

  const std::string& text() const { return lines.front(); }
  const std::string& file(int column = 0) const {
    const std::size_t i = static_cast<std::size_t>(column);
    return (*files)[i < files->size() ? i : 0];
  }
  Location place(int column = 0) const { return {intern_file(file(column)), static_cast<int>(line), 1}; }
};

// What a text's lines are, and what its records must have.
struct RecordLayout {
  Format format = Format::kLines;
  int columns = 0;                // CONLL, TSV: at least so many
  std::vector<std::string> keys;  // JSONL: that every object has
  // Plain lines instead of the format's own: each is the words of a CONLL sentence, the one column that is read, or the value
  // of the one key, a list of its words where `list` says so.
  bool plain = false;
  bool list = false;
};

// Of the data's own files. `fields`: those that are read.
RecordLayout layout_of(const DataSpec& data, const std::vector<const FieldSpec*>& fields);
// Of lines to run a model on: `read` is the data's format, LINES, or for PARALLEL data TSV. Throws UserError (kBadData, E0643)
// where plain lines can't hold the fields.
RecordLayout layout_of_input(const DataSpec& data, const std::vector<const FieldSpec*>& fields, Format read);

// Reads records from lines: of one file, or of several side by side.
class RecordReader {
 public:
  RecordReader(std::vector<std::unique_ptr<LineReader>> lines, RecordLayout layout);
  RecordReader(std::unique_ptr<LineReader> lines, RecordLayout layout);

  // False at the end. Throws UserError (kBadData): LineReader's; too few columns or another number of them than in the line
  // before (E0643); one of the files side by side shorter than another (E0653); no JSON object, or a key missing (E0652).
  bool next(Record& record);
  // Tells `bad_line` of every line of a single file that is no text (BadLine) instead of ending there: the record that it is in
  // is empty.
  void pass_over(std::function<void(const Diagnostic&)> bad_line) { bad_line_ = std::move(bad_line); }
  // Whether next() can answer soon, see LineReader::ready. For CONLL a first line is not yet a sentence, so it may block until
  // the sentence is whole.
  bool ready(int milliseconds) { return lines_.front()->ready(milliseconds); }

 private:
  enum class Line { kEnd, kText, kBad };
  Line next_line(std::string& line);
  void read_plain(Record& record) const;
  bool next_sentence(Record& record);
  bool next_side_by_side(Record& record);
  std::vector<std::string> split_columns(const std::string& line);

  std::vector<std::unique_ptr<LineReader>> lines_;
  RecordLayout layout_;
  std::shared_ptr<const std::vector<std::string>> names_;
  std::function<void(const Diagnostic&)> bad_line_;
  std::size_t expected_ = 0;  // columns of the lines before; 0: none read yet
};

// Visits every record of these files that is not empty; `blank` is called for the others. Throws RecordReader's errors, and
// UserError (kBadData, E0653) where PARALLEL files don't come in groups.
void each_record(
    const DataSpec& data, const std::vector<std::string>& files, const RecordLayout& layout,
    const std::function<void(const Record&)>& visit, const std::function<void()>& blank = [] {});

// Where records stand, by the order in which they were added.
class RecordPlaces {
 public:
  void add(const Record& record);
  // Record i without its text: for messages.
  Record record(std::int64_t i) const;

 private:
  struct Files {
    std::int64_t first = 0;  // record of them
    std::shared_ptr<const std::vector<std::string>> names;
  };
  std::vector<std::int32_t> lines_;
  std::vector<Files> files_;
};

}  // namespace graphrun
