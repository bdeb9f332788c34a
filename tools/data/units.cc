#include "tools/data/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "tools/data/json_lines.h"
#include "tools/text/text.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

// Appends the positions of a word's characters: B, M, …, E, or S.
void add_places(std::size_t characters, std::vector<std::string>& tags) {
  if (characters == 1) {
    tags.emplace_back("S");
    return;
  }
  tags.emplace_back("B");
  tags.insert(tags.end(), characters - 2, "M");
  tags.emplace_back("E");
}

std::string normalized(std::string text, const FieldSpec& field) {
  for (const Normalize form : field.normalize) {
    switch (form) {
      case Normalize::kNfc: text = nfc(text); break;
      case Normalize::kNfkc: text = nfkc(text); break;
      case Normalize::kLower: text = lower_case(text); break;
    }
  }
  return text;
}

// Text is normalized as a whole before it is split into subwords.
void normalize_texts(std::vector<std::string>& texts, const FieldSpec& field) {
  if (field.normalize.empty()) return;
  for (std::string& text : texts) text = normalized(std::move(text), field);
}

// Normalizes entries one by one, so that their number does not change and a character's position in its word stays that in the
// text. A normal form may contain spaces ("´" is a space with an accent), which an entry must not: they are removed, unless the
// entry consists of nothing else.
void normalize_entries(std::vector<std::string>& entries, const FieldSpec& field) {
  if (field.normalize.empty()) return;
  for (std::string& entry : entries) {
    std::string form = normalized(entry, field);
    if (form.find_first_not_of(' ') != std::string::npos) std::erase(form, ' ');
    if (!form.empty()) entry = std::move(form);
  }
}

using Cut = std::function<std::vector<std::string>(const std::string& text)>;

// Splits units along one more sequence axis. `depth`: their current depth, 0 or 1.
Units split_units(const Units& units, int depth, const Cut& cut) {
  Units deeper;
  for (const std::string& text : units.symbols) {
    std::vector<std::string> parts = cut(text);
    if (depth == 1) deeper.lengths.push_back(static_cast<std::int32_t>(parts.size()));
    std::move(parts.begin(), parts.end(), std::back_inserter(deeper.symbols));
  }
  return deeper;
}

// The texts from which the field's splits start, and the number of their axes.
Units texts_in(const DataSpec& data, const FieldSpec& field, const Record& record, int& depth) {
  Units units;
  depth = 0;
  switch (data.format) {
    case Format::kConll:
      depth = 1;
      for (const auto& columns : record.columns) units.symbols.push_back(columns[static_cast<std::size_t>(field.column)]);
      return units;
    case Format::kTsv:
    case Format::kParallel: units.symbols = {record.columns[0][static_cast<std::size_t>(field.column)]}; return units;
    case Format::kJsonl: depth = static_cast<int>(lists_of(field)); return texts_of(field, record);
    case Format::kLines:
    case Format::kSegmented:
    case Format::kStream: units.symbols = {record.text()}; return units;
  }
  return units;
}

// Rejects symbols that no vocabulary can contain.
void check_symbols(const DataSpec& data, const FieldSpec& field, const Record& record, const Units& units) {
  for (const std::string& symbol : units.symbols) {
    if (symbol.find('\n') != std::string::npos || symbol.find('\0') != std::string::npos) {
      data_error(
          "E0652 bad-json", record.file(), record.line, 0,
          fmt::format("field '{}' has an entry with a line end or a NUL in it, which no vocabulary can hold", field.name),
          {"help: split: SPACE takes line ends for white space"});
    }
    if (!symbol.empty()) continue;
    if (data.format == Format::kJsonl) {
      data_error("E0652 bad-json", record.file(), record.line, 0,
                 fmt::format("the value of '{}' is empty; expected a value", field.key));
    }
    data_error("E0643 wrong-columns", record.file(field.column), record.line, 0,
               data.format == Format::kParallel ? std::string("the line is empty; expected a value")
                                                : fmt::format("column {} is empty; expected a value", field.column));
  }
}

// The last steps for every field of a record.
void finish_units(const DataSpec& data, const FieldSpec& field, const Record& record, Units& units) {
  if (data.format == Format::kStream) units.symbols.push_back(data.end_of_line);
  check_symbols(data, field, record, units);
}

}  // namespace

int field_depth(const DataSpec& data, const FieldSpec& field) {
  if (field.derive == Derive::kBmes) return 1;
  return static_cast<int>(field.splits.size()) + (data.format == Format::kConll ? 1 : 0);
}

std::size_t files_side_by_side(const DataSpec& data) {
  int last = 0;
  if (data.format == Format::kParallel) {
    for (const FieldSpec& field : data.fields) last = std::max(last, field.column);
  }
  return static_cast<std::size_t>(last) + 1;
}

Units units_of(const DataSpec& data, const FieldSpec& field, const Record& record, const Subwords* subwords) {
  Units units;
  if (field.derive == Derive::kBmes) {
    each_word(record.text(), [&](std::string_view, std::size_t points) { add_places(points, units.symbols); });
    return units;
  }
  if (field.in_subwords()) {
    GRAPHRUN_CHECK(subwords != nullptr, "units_of: no subwords");
    return cut_units(data, field, record, uncut_units(data, field, record), *subwords);
  }
  int depth = 0;
  units = texts_in(data, field, record, depth);
  for (const Split split : field.splits) {
    if (split == Split::kSpace) units = split_units(units, depth++, words_of);
    if (split == Split::kCharacter) {
      units = split_units(units, depth++,
                          [&](const std::string& text) { return characters_of(text, data.format != Format::kSegmented); });
    }
  }
  normalize_entries(units.symbols, field);
  finish_units(data, field, record, units);
  return units;
}

Units uncut_units(const DataSpec& data, const FieldSpec& field, const Record& record) {
  int depth = 0;
  Units units = texts_in(data, field, record, depth);
  normalize_texts(units.symbols, field);
  for (const Split split : field.splits) {
    if (split == Split::kSpace) units = split_units(units, depth++, words_of);
  }
  return units;
}

Units cut_units(const DataSpec& data, const FieldSpec& field, const Record& record, const Units& uncut,
                const Subwords& subwords) {
  Units units =
      split_units(uncut, field_depth(data, field) - 1, [&](const std::string& text) { return subwords.pieces_of(text); });
  finish_units(data, field, record, units);
  return units;
}

std::vector<std::string> units_as_written(const DataSpec& data, const FieldSpec& field, const Record& record,
                                          const Subwords* subwords) {
  if (field.normalize.empty() || field.in_subwords()) return units_of(data, field, record, subwords).symbols;
  FieldSpec plain = field;
  plain.normalize.clear();
  return units_of(data, plain, record, subwords).symbols;
}

std::string text_in(const DataSpec& data, const FieldSpec& field, const Record& record) {
  int depth = 0;
  const Units units = texts_in(data, field, record, depth);
  std::string text;
  for (const std::string& part : units.symbols) text += (text.empty() ? "" : " ") + part;
  return field.joiner.empty() ? text : joined(words_of(text), {true, field.joiner, nullptr});
}

std::int64_t line_of(const DataSpec& data, const Record& record, const Units& units, std::size_t symbol) {
  if (data.format != Format::kConll) return record.line;
  if (units.lengths.empty()) return record.line + static_cast<std::int64_t>(symbol);
  std::int64_t line = record.line;
  for (const std::int32_t length : units.lengths) {
    if (symbol < static_cast<std::size_t>(length)) break;
    symbol -= static_cast<std::size_t>(length);
    ++line;
  }
  return line;
}

}  // namespace graphrun
