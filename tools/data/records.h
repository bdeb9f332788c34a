// Records: the examples in files.
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

// One example: a line, a sentence of a CONLL file, one line of each parallel file, or an object.
struct Record {
  std::vector<std::string> lines;                         // CONLL: lines of the sentence, without the blank one; else one line
  std::vector<std::vector<std::string>> columns;          // CONLL: by line; TSV: of the only line; PARALLEL: by file
  std::shared_ptr<const nlohmann::json> object;           // JSONL
  std::int64_t line = 0;                                  // number of the first line in its file, from 1
  bool empty = false;                                     // only white space, or a sentence without lines
  bool bad = false;                                       // empty because one of its lines is not text
  bool closed = false;                                    // CONLL: a blank line ended it, not the end of the text
  std::shared_ptr<const std::vector<std::string>> files;  // file names for messages; PARALLEL: by column

  const std::string& text() const { return lines.front(); }
  const std::string& file(int column = 0) const {
    const std::size_t i = static_cast<std::size_t>(column);
    return (*files)[i < files->size() ? i : 0];
  }
  Location place(int column = 0) const { return {intern_file(file(column)), static_cast<int>(line), 1}; }
};

// The form of a text's lines, and what its records must contain.
struct RecordLayout {
  Format format = Format::kLines;
  int columns = 0;                // CONLL, TSV: the least number of columns
  std::vector<std::string> keys;  // JSONL: keys that every object must have
  // Plain lines instead of the format's: each is the words of a CONLL sentence, the only column that is read, or the value of
  // the only key (with `list`, the list of its words).
  bool plain = false;
  bool list = false;
};

// The layout of the data's own files. `fields`: those to be read.
RecordLayout layout_of(const DataSpec& data, const std::vector<const FieldSpec*>& fields);
// The layout of lines to run a model on: `read` is the data's format, LINES or, for PARALLEL data, TSV. Throws UserError
// (kBadData, E0643) if plain lines cannot contain the fields.
RecordLayout layout_of_input(const DataSpec& data, const std::vector<const FieldSpec*>& fields, Format read);

// Reads records from the lines of one file, or of several parallel files.
class RecordReader {
 public:
  RecordReader(std::vector<std::unique_ptr<LineReader>> lines, RecordLayout layout);
  RecordReader(std::unique_ptr<LineReader> lines, RecordLayout layout);

  // False at the end. Throws UserError (kBadData): LineReader's; E0643 for too few columns, or a different number from the
  // previous line; E0653 if one of several parallel files is shorter than another; E0652 for a line that is not a JSON object,
  // or lacks a key.
  bool next(Record& record);
  // Calls `bad_line` for every line of a single file that is not text (BadLine), instead of throwing; its record is then empty.
  void pass_over(std::function<void(const Diagnostic&)> bad_line) { bad_line_ = std::move(bad_line); }
  // Whether next() can answer soon; see LineReader::ready. For CONLL, next() may still block until the sentence is complete,
  // since a first line is not yet a sentence.
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
  std::size_t expected_ = 0;  // columns of the previous lines; 0 before the first
};

// Visits every non-empty record of these files; calls `blank` for the others. Throws RecordReader's errors, and UserError
// (kBadData, E0653) if PARALLEL files do not come in groups.
void each_record(
    const DataSpec& data, const std::vector<std::string>& files, const RecordLayout& layout,
    const std::function<void(const Record&)>& visit, const std::function<void()>& blank = [] {});

// The locations of records, in the order in which they were added.
class RecordPlaces {
 public:
  void add(const Record& record);
  // Record i without its text: for messages.
  Record record(std::int64_t i) const;

 private:
  struct Files {
    std::int64_t first = 0;  // first record of a group of files
    std::shared_ptr<const std::vector<std::string>> names;
  };
  std::vector<std::int32_t> lines_;
  std::vector<Files> files_;
};

}  // namespace graphrun
