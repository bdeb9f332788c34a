#include "tools/data/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tools/data/utf8.h"

namespace graphrun {
namespace {

bool blank(const std::string& line) {
  const auto points = code_points(line);
  return std::all_of(points.begin(), points.end(), is_space);
}

// The words of a line and of how many code points each is.
void each_word(std::string_view line, const std::function<void(std::string_view word, std::size_t points)>& visit) {
  const char* begin = nullptr;
  const char* end = nullptr;
  std::size_t points = 0;
  const auto close = [&] {
    if (points > 0) visit(std::string_view(begin, static_cast<std::size_t>(end - begin)), points);
    points = 0;
  };
  for (const std::string_view point : code_points(line)) {
    if (is_space(point)) {
      close();
      continue;
    }
    if (points++ == 0) begin = point.data();
    end = point.data() + point.size();
  }
  close();
}

void add_places(std::size_t characters, std::vector<std::string>& tags) {
  if (characters == 1) {
    tags.emplace_back("S");
    return;
  }
  tags.emplace_back("B");
  tags.insert(tags.end(), characters - 2, "M");
  tags.emplace_back("E");
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  each_word(text, [&](std::string_view word, std::size_t) { words.emplace_back(word); });
  return words;
}

std::vector<std::string> characters_of(std::string_view text, bool keep_spaces) {
  std::vector<std::string> characters;
  for (const std::string_view point : code_points(text))
    if (keep_spaces || !is_space(point)) characters.emplace_back(point);
  return characters;
}

std::vector<std::string> split_text(const std::string& text, Split split, bool keep_spaces) {
  switch (split) {
    case Split::kNone: return {text};
    case Split::kSpace: return words_of(text);
    case Split::kCharacter: return characters_of(text, keep_spaces);
  }
  return {};
}

Units units_of_sentence(const FieldSpec& field, const Record& record) {
  Units units;
  for (const auto& columns : record.columns) {
    const std::string& cell = columns[static_cast<std::size_t>(field.column)];
    if (field.split == Split::kNone) {
      units.symbols.push_back(cell);
      continue;
    }
    std::vector<std::string> parts = split_text(cell, field.split, true);
    units.lengths.push_back(static_cast<std::int32_t>(parts.size()));
    std::move(parts.begin(), parts.end(), std::back_inserter(units.symbols));
  }
  return units;
}

}  // namespace

int field_depth(const DataSpec& data, const FieldSpec& field) {
  const int split = field.split == Split::kNone ? 0 : 1;
  switch (data.format) {
    case Format::kConll: return 1 + split;
    case Format::kSegmented:
    case Format::kStream: return 1;
    case Format::kLines:
    case Format::kTsv: return split;
  }
  return split;
}

RecordReader::RecordReader(std::unique_ptr<LineReader> lines, Format format, int columns, bool words)
    : lines_(std::move(lines)), format_(format), columns_(columns), words_(words) {}

bool RecordReader::next(Record& record) {
  if (format_ == Format::kConll && !words_) return next_sentence(record);
  record.columns.clear();
  record.lines.resize(1);
  if (!lines_->next(record.lines[0])) return false;
  record.line = lines_->line();
  record.empty = blank(record.lines[0]);
  if (words_)
    for (std::string& word : words_of(record.lines[0])) record.columns.push_back({std::move(word)});
  if (format_ == Format::kTsv && !record.empty) record.columns.push_back(split_columns(record.lines[0]));
  return true;
}

// A sentence ends at a blank line or at the end of the text. A blank line that ends none is an empty record.
bool RecordReader::next_sentence(Record& record) {
  record = Record();
  for (std::string line; lines_->next(line);) {
    if (blank(line)) {
      record.closed = true;
      record.empty = record.lines.empty();
      if (record.empty) record.line = lines_->line();
      return true;
    }
    if (record.lines.empty()) record.line = lines_->line();
    record.columns.push_back(split_columns(line));
    record.lines.push_back(std::move(line));
  }
  return !record.lines.empty();
}

std::vector<std::string> RecordReader::split_columns(const std::string& line) {
  std::vector<std::string> columns;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    columns.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  const std::size_t found = columns.size();
  const std::string what = fmt::format("{} column{} separated by tabs", found, found == 1 ? "" : "s");
  if (found < static_cast<std::size_t>(columns_))
    data_error("E0643 wrong-columns", lines_->name(), lines_->line(), 0,
               fmt::format("{}; the job's fields need at least {}", what, columns_));
  if (expected_ != 0 && found != expected_)
    data_error("E0643 wrong-columns", lines_->name(), lines_->line(), 0,
               fmt::format("{}; the lines before have {}", what, expected_));
  const auto needed = columns.begin() + columns_;
  const auto empty = std::find(columns.begin(), needed, "");
  if (empty != needed && format_ == Format::kConll)
    data_error("E0643 wrong-columns", lines_->name(), lines_->line(), 0,
               fmt::format("column {} is empty; expected a value", empty - columns.begin()));
  expected_ = found;
  return columns;
}

Units units_of(const DataSpec& data, const FieldSpec& field, const Record& record) {
  Units units;
  switch (data.format) {
    case Format::kConll: return units_of_sentence(field, record);
    case Format::kSegmented:
      if (field.derive == Derive::kBmes)
        each_word(record.text(), [&](std::string_view, std::size_t points) { add_places(points, units.symbols); });
      else
        units.symbols = split_text(record.text(), field.split, false);
      return units;
    case Format::kStream:
      units.symbols = split_text(record.text(), field.split, true);
      units.symbols.push_back(data.end_of_line);
      return units;
    case Format::kTsv:
      if (!record.empty)
        units.symbols = split_text(record.columns[0][static_cast<std::size_t>(field.column)], field.split, true);
      return units;
    case Format::kLines: units.symbols = split_text(record.text(), field.split, true); return units;
  }
  return units;
}

int columns_needed(const DataSpec& data, const std::vector<const FieldSpec*>& fields) {
  int needed = 1;
  if (data.format != Format::kConll && data.format != Format::kTsv) return 0;
  for (const FieldSpec* field : fields) needed = std::max(needed, field->column + 1);
  return needed;
}

}  // namespace graphrun
