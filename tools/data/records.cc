#include "tools/data/records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/data/json_lines.h"
#include "tools/text/text.h"

namespace graphrun {
namespace {

std::shared_ptr<const std::vector<std::string>> names_of(const std::vector<std::unique_ptr<LineReader>>& lines) {
  std::vector<std::string> names;
  for (const auto& reader : lines) names.push_back(reader->name());
  return std::make_shared<const std::vector<std::string>>(std::move(names));
}

std::vector<std::unique_ptr<LineReader>> one(std::unique_ptr<LineReader> lines) {
  std::vector<std::unique_ptr<LineReader>> all;
  all.push_back(std::move(lines));
  return all;
}

int columns_needed(const std::vector<const FieldSpec*>& fields) {
  int needed = 1;
  for (const FieldSpec* field : fields) needed = std::max(needed, field->column + 1);
  return needed;
}

std::vector<std::string> keys_needed(const std::vector<const FieldSpec*>& fields) {
  std::vector<std::string> keys;
  for (const FieldSpec* field : fields) {
    if (std::find(keys.begin(), keys.end(), field->key) == keys.end()) keys.push_back(field->key);
  }
  return keys;
}

[[noreturn]] void not_plain(const std::string& text, const std::string& help) {
  throw UserError(ExitCode::kBadData, "E0643 wrong-columns", text, {"help: " + help});
}

}  // namespace

RecordLayout layout_of(const DataSpec& data, const std::vector<const FieldSpec*>& fields) {
  RecordLayout layout;
  layout.format = data.format;
  if (data.format == Format::kConll || data.format == Format::kTsv) layout.columns = columns_needed(fields);
  if (data.format == Format::kJsonl) layout.keys = keys_needed(fields);
  return layout;
}

RecordLayout layout_of_input(const DataSpec& data, const std::vector<const FieldSpec*>& fields, Format read) {
  RecordLayout layout = layout_of(data, fields);
  if (data.format == Format::kParallel) {
    layout.format = Format::kTsv;  // a single text is read as TSV, with the files' lines as columns
    layout.columns = columns_needed(fields);
  }
  if (read != Format::kLines) return layout;
  layout.plain = true;
  if (data.format == Format::kConll && layout.columns > 1) {
    not_plain(fmt::format("plain lines have one column of words; the job's fields need {}", layout.columns),
              "infer { read: CONLL } reads columns");
  }
  const auto same_column = [&](const FieldSpec* field) { return field->column + 1 == layout.columns; };
  if (layout.format == Format::kTsv && !std::all_of(fields.begin(), fields.end(), same_column)) {
    not_plain("plain lines have one text; the job's fields need several columns", "infer { read: TSV } reads columns by tabs");
  }
  if (layout.keys.size() > 1) {
    not_plain(
        fmt::format("plain lines have one text; the job's fields need the keys '{}' and '{}'", layout.keys[0], layout.keys[1]),
        "infer { read: JSONL } reads objects");
  }
  for (const FieldSpec* field : fields) layout.list = layout.list || (layout.format == Format::kJsonl && lists_of(*field) == 1);
  return layout;
}

RecordReader::RecordReader(std::vector<std::unique_ptr<LineReader>> lines, RecordLayout layout)
    : lines_(std::move(lines)), layout_(std::move(layout)), names_(names_of(lines_)) {}

RecordReader::RecordReader(std::unique_ptr<LineReader> lines, RecordLayout layout)
    : RecordReader(one(std::move(lines)), std::move(layout)) {}

bool RecordReader::next(Record& record) {
  record = Record();
  record.files = names_;
  if (layout_.format == Format::kParallel) return next_side_by_side(record);
  if (layout_.format == Format::kConll && !layout_.plain) return next_sentence(record);
  LineReader& lines = *lines_.front();
  record.lines.resize(1);
  const Line read = next_line(record.lines[0]);
  if (read == Line::kEnd) return false;
  record.line = lines.line();
  record.bad = read == Line::kBad;
  record.empty = record.bad || is_blank(record.lines[0]);
  if (record.empty) return true;
  if (layout_.plain) {
    read_plain(record);
  } else if (layout_.format == Format::kTsv) {
    record.columns.push_back(split_columns(record.lines[0]));
  } else if (layout_.format == Format::kJsonl) {
    record.object = parse_object(record.lines[0], layout_.keys, lines.name(), record.line);
  }
  return true;
}

RecordReader::Line RecordReader::next_line(std::string& line) {
  try {
    return lines_.front()->next(line) ? Line::kText : Line::kEnd;
  } catch (const BadLine& error) {
    if (!bad_line_) throw;
    bad_line_(error.diagnostics().front());
    return Line::kBad;
  }
}

void RecordReader::read_plain(Record& record) const {
  const std::string& line = record.lines[0];
  if (layout_.format == Format::kConll) {
    for (std::string& word : words_of(line)) record.columns.push_back({std::move(word)});
  } else if (layout_.format == Format::kTsv) {
    record.columns.emplace_back(static_cast<std::size_t>(layout_.columns));
    record.columns.back().back() = line;
  } else if (layout_.format == Format::kJsonl && !layout_.keys.empty()) {
    record.object = object_of_text(layout_.keys.front(), line, layout_.list);
  }
}

// A sentence ends at a blank line or at the end of the text. Any other blank line is an empty record, and so is a sentence with
// a bad line.
bool RecordReader::next_sentence(Record& record) {
  LineReader& lines = *lines_.front();
  bool bad = false;
  std::string line;
  for (Line read = next_line(line); read != Line::kEnd; read = next_line(line)) {
    const bool first = record.lines.empty() && !bad;
    if (first) record.line = lines.line();
    if (read == Line::kBad) {
      bad = record.bad = record.empty = true;
      record.lines.clear();
      record.columns.clear();
      continue;
    }
    if (is_blank(line)) {
      record.closed = true;
      record.empty = record.lines.empty();
      return true;
    }
    if (bad) continue;
    record.columns.push_back(split_columns(line));
    record.lines.push_back(std::move(line));
  }
  return bad || !record.lines.empty();
}

// Reads line n of every file; all files must end together.
bool RecordReader::next_side_by_side(Record& record) {
  std::vector<std::string> texts(lines_.size());
  std::size_t ended = lines_.size(), going = lines_.size();
  for (std::size_t i = 0; i < lines_.size(); ++i) (lines_[i]->next(texts[i]) ? going : ended) = i;
  if (going == lines_.size()) return false;
  record.line = lines_[going]->line();
  if (ended != lines_.size()) {
    data_error("E0653 unequal-files", lines_[ended]->name(), lines_[ended]->line(), 0,
               fmt::format("the file ends after {}; '{}', which is read with it, has more",
                           counted(lines_[ended]->line(), "line"), lines_[going]->name()),
               {"help: line n of each file is one example, so the files must have equally many lines"});
  }
  record.empty = std::all_of(texts.begin(), texts.end(), is_blank);
  record.lines = {texts[0]};
  record.columns.push_back(std::move(texts));
  return true;
}

std::vector<std::string> RecordReader::split_columns(const std::string& line) {
  const LineReader& lines = *lines_.front();
  std::vector<std::string> columns;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    columns.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  const std::size_t found = columns.size();
  const std::string what = counted(static_cast<std::int64_t>(found), "column") + " separated by tabs";
  if (found < static_cast<std::size_t>(layout_.columns)) {
    data_error("E0643 wrong-columns", lines.name(), lines.line(), 0,
               fmt::format("{}; the job's fields need at least {}", what, layout_.columns));
  }
  if (expected_ != 0 && found != expected_) {
    data_error("E0643 wrong-columns", lines.name(), lines.line(), 0,
               fmt::format("{}; the lines before have {}", what, expected_));
  }
  const auto needed = columns.begin() + layout_.columns;
  const auto empty = std::find(columns.begin(), needed, "");
  if (empty != needed && layout_.format == Format::kConll) {
    data_error("E0643 wrong-columns", lines.name(), lines.line(), 0,
               fmt::format("column {} is empty; expected a value", empty - columns.begin()));
  }
  expected_ = found;
  return columns;
}

void each_record(const DataSpec& data, const std::vector<std::string>& files, const RecordLayout& layout,
                 const std::function<void(const Record&)>& visit, const std::function<void()>& blank) {
  const std::size_t together = files_side_by_side(data);
  if (files.size() % together != 0) {
    throw UserError(ExitCode::kBadData, "E0653 unequal-files",
                    fmt::format("{}, in groups of {} parallel files: {}",
                                counted(static_cast<std::int64_t>(files.size()), "file"), together, fmt::join(files, ", ")),
                    {"help: one file for each column, group by group"});
  }
  for (std::size_t first = 0; first < files.size(); first += together) {
    std::vector<std::unique_ptr<LineReader>> lines;
    for (std::size_t i = 0; i < together; ++i) lines.push_back(std::make_unique<LineReader>(files[first + i]));
    RecordReader reader(std::move(lines), layout);
    Record record;
    while (reader.next(record)) {
      // In a stream, a blank line is a line like any other; between CONLL sentences it is not an example.
      if (!record.empty || data.format == Format::kStream) {
        visit(record);
      } else if (data.format != Format::kConll) {
        blank();
      }
    }
  }
}

void RecordPlaces::add(const Record& record) {
  if (files_.empty() || files_.back().names != record.files) {
    files_.push_back({static_cast<std::int64_t>(lines_.size()), record.files});
  }
  lines_.push_back(static_cast<std::int32_t>(record.line));
}

Record RecordPlaces::record(std::int64_t i) const {
  const auto after =
      std::upper_bound(files_.begin(), files_.end(), i, [](std::int64_t at, const Files& files) { return at < files.first; });
  Record record;
  record.line = lines_[static_cast<std::size_t>(i)];
  record.files = std::prev(after)->names;
  return record;
}

}  // namespace graphrun
