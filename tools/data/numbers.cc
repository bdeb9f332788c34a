#include "tools/data/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/data/json_lines.h"
#include "tools/json/json.h"
#include "tools/text/text.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostQuoted = 40;  // bytes of a quoted text that is not a number
constexpr const char* kTooLarge = "is beyond float32, which ends at 3.4e38";

// Removes blanks around the only number of a line or column.
std::string_view without_blanks(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string quoted(std::string_view text) {
  if (text.size() <= kMostQuoted) return fmt::format("'{}'", text);
  return fmt::format("'{}…'", within_bytes(text, kMostQuoted));
}

// The position of a text in the record.
struct TextPlace {
  std::int64_t line = 0;
  std::int64_t column = 0;  // in bytes, from 1; 0: the whole line
};

class FieldReader {
 public:
  FieldReader(const DataSpec& data, const FieldSpec& field, const Record& record)
      : data_(data), field_(field), record_(record), lists_(lists_of(field)) {
    value_.depth = field_depth(data, field);
  }

  Nested read() {
    switch (data_.format) {
      case Format::kConll: read_tokens(); break;
      case Format::kTsv:
      case Format::kParallel: read_column(); break;
      case Format::kJsonl: read_json(record_.object->at(field_.key), lists_); break;
      case Format::kLines: read_text(record_.text(), {record_.line, 1}); break;
      case Format::kSegmented:
      case Format::kStream: throw InternalError("numbers_in: the format has no numbers");
    }
    return std::move(value_);
  }

 private:
  bool at_spaces() const { return field_.splits.size() > lists_; }

  // Reads one number or, with split: SPACE, all numbers between spaces.
  void read_text(std::string_view text, const TextPlace& at) {
    if (!at_spaces()) return add(without_blanks(text), text, at);
    const std::size_t before = value_.values.size();
    each_word(text, [&](std::string_view word, std::size_t) { add(word, text, at); });
    if (value_.depth == kDeepest) value_.lengths.push_back(static_cast<std::int32_t>(value_.values.size() - before));
  }

  // `number`: a part of `text`, or all of it if it is blank.
  void add(std::string_view number, std::string_view text, const TextPlace& at) {
    const NumberText found = read_number(number);
    if (found.wrong == nullptr) return value_.values.push_back(bits_of(found.value));
    const std::int64_t offset = number.empty() ? 0 : number.data() - text.data();
    refuse({at.line, at.column == 0 ? 0 : at.column + offset}, number, found.wrong);
  }

  [[noreturn]] void refuse(const TextPlace& at, std::string_view number, const char* wrong) const {
    std::vector<std::string> notes;
    std::string point(number);
    std::replace(point.begin(), point.end(), ',', '.');
    if (!at_spaces() && words_of(number).size() > 1) {
      notes.emplace_back("help: split: SPACE reads a list of numbers");
    } else if (point != number && read_number(point).wrong == nullptr) {
      notes.push_back("help: numbers are written with a point: " + point);
    }
    data_error("E0654 no-number", file(), at.line, at.column,
               number.empty() ? fmt::format("field '{}' has nothing here; expected a number", field_.name)
                              : fmt::format("{} {}; field '{}' is FLOAT", quoted(number), wrong, field_.name),
               std::move(notes));
  }

  const std::string& file() const { return record_.file(data_.format == Format::kParallel ? field_.column : 0); }

  // Reads the lines of a sentence, or the words of a plain one.
  void read_tokens() {
    const auto column = static_cast<std::size_t>(field_.column);
    const bool plain = record_.lines.size() != record_.columns.size();
    for (std::size_t i = 0, from = 0; i < record_.columns.size(); ++i) {
      const std::string& text = record_.columns[i][column];
      if (!plain) {
        read_text(text, {record_.line + static_cast<std::int64_t>(i), column_in(record_.lines[i], record_.columns[i], column)});
        continue;
      }
      const std::size_t begin = record_.lines.front().find(text, from);
      read_text(text, {record_.line, static_cast<std::int64_t>(begin) + 1});
      from = begin + text.size();
    }
  }

  void read_column() {
    const auto column = static_cast<std::size_t>(field_.column);
    read_text(record_.columns[0][column], {record_.line, column_in(record_.lines[0], record_.columns[0], column)});
  }

  // The position of the column in a tab-separated line; 1 if it is a line of its own.
  static std::int64_t column_in(const std::string& line, const std::vector<std::string>& columns, std::size_t column) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < column; ++i) begin += columns[i].size() + 1;
    const std::string& text = columns[column];
    return begin <= line.size() && line.compare(begin, text.size(), text) == 0 ? static_cast<std::int64_t>(begin) + 1 : 1;
  }

  // Reads a number, a text with numbers, or everything in lists nested `lists` deep.
  void read_json(const nlohmann::json& json, std::size_t lists) {
    if (lists > 0) {
      if (!json.is_array()) wrong_kind(json, "a list", "leave LIST out of the field's split if its value is one number");
      for (const nlohmann::json& element : json) {
        const std::size_t before = value_.values.size();
        read_json(element, lists - 1);
        if (lists == 2) value_.lengths.push_back(static_cast<std::int32_t>(value_.values.size() - before));
      }
      return;
    }
    if (json.is_string()) {
      const std::string& text = json.get_ref<const std::string&>();
      const auto quote = static_cast<std::size_t>(json_place().column);  // from 1, so the text begins here, from 0
      const bool as_written = quote > 0 && record_.lines.front().compare(quote, text.size(), text) == 0;
      read_text(text, {record_.line, as_written ? static_cast<std::int64_t>(quote) + 1 : 0});
    } else if (json.is_number() && !at_spaces()) {
      const double number = json.get<double>();
      if (!std::isfinite(static_cast<float>(number))) refuse(json_place(), json_text(json), kTooLarge);
      value_.values.push_back(bits_of(static_cast<float>(number)));
    } else {
      wrong_kind(json, at_spaces() ? "a text of numbers" : "a number", json.is_array() ? "split: LIST reads a list" : "");
    }
    ++elements_;
  }

  [[noreturn]] void wrong_kind(const nlohmann::json& json, const char* expected, const std::string& help) const {
    const TextPlace at = json_place();
    data_error(
        "E0652 bad-json", file(), at.line, at.column,
        fmt::format("the value of '{}' has {} where field '{}' expects {}", field_.key, kind_of(json), field_.name, expected),
        help.empty() ? std::vector<std::string>{} : std::vector<std::string>{"help: " + help});
  }
  TextPlace json_place() const { return {record_.line, column_of_element(record_.lines.front(), field_.key, elements_)}; }

  const DataSpec& data_;
  const FieldSpec& field_;
  const Record& record_;
  const std::size_t lists_;
  std::size_t elements_ = 0;  // elements of JSON read so far
  Nested value_;
};

}  // namespace

NumberText read_number(std::string_view text) {
  const std::optional<ParsedNumber> number = parse_number(text);
  if (!number) return {0, "is not a number"};
  if (!number->beyond && !std::isfinite(number->value)) return {0, "is not a finite number"};
  const auto value = static_cast<float>(number->value);
  if (!std::isfinite(value)) return {0, kTooLarge};
  return {value, nullptr};
}

Nested numbers_in(const DataSpec& data, const FieldSpec& field, const Record& record) {
  return FieldReader(data, field, record).read();
}

}  // namespace graphrun
