#include "tools/data/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace graphrun {
namespace {

std::vector<const FieldSpec*> chosen_fields(const DataSpec& data, const std::function<bool(const FieldSpec&)>& chosen) {
  std::vector<const FieldSpec*> fields;
  for (const FieldSpec& field : data.fields)
    if (chosen(field)) fields.push_back(&field);
  return fields;
}

// Every record that is not empty; `blank` is called for the others.
void each_record(
    const DataSpec& data, const std::vector<std::string>& files, int columns,
    const std::function<void(const Record&, const std::string& file)>& visit, const std::function<void()>& blank = [] {}) {
  for (const std::string& file : files) {
    RecordReader reader(std::make_unique<LineReader>(file), data.format, columns);
    Record record;
    while (reader.next(record)) {
      // A blank line of a stream is an end of line like any other; between sentences of CONLL it is no example.
      if (!record.empty || data.format == Format::kStream)
        visit(record, file);
      else if (data.format != Format::kConll)
        blank();
    }
  }
}

}  // namespace

Dataset::Dataset(const DataSpec& data) {
  for (const FieldSpec& field : data.fields) {
    Column column;
    column.depth = field_depth(data, field);
    columns_.push_back(std::move(column));
  }
}

void Dataset::add(const std::vector<Nested>& fields) {
  ++size_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    column.values.insert(column.values.end(), fields[i].values.begin(), fields[i].values.end());
    column.value_begin.push_back(static_cast<std::int64_t>(column.values.size()));
    if (column.depth < 2) continue;
    column.lengths.insert(column.lengths.end(), fields[i].lengths.begin(), fields[i].lengths.end());
    column.length_begin.push_back(static_cast<std::int64_t>(column.lengths.size()));
  }
}

void Dataset::extend(const std::vector<Nested>& fields) {
  if (size_ == 0) return add(fields);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    column.values.insert(column.values.end(), fields[i].values.begin(), fields[i].values.end());
    column.value_begin.back() = static_cast<std::int64_t>(column.values.size());
  }
}

std::vector<Nested> Dataset::example(std::int64_t i) const {
  std::vector<Nested> fields;
  fields.reserve(columns_.size());
  const std::size_t at = static_cast<std::size_t>(i);
  for (const Column& column : columns_) {
    Nested value;
    value.depth = column.depth;
    value.values.assign(column.values.begin() + column.value_begin[at], column.values.begin() + column.value_begin[at + 1]);
    if (column.depth == 2)
      value.lengths.assign(column.lengths.begin() + column.length_begin[at],
                           column.lengths.begin() + column.length_begin[at + 1]);
    fields.push_back(std::move(value));
  }
  return fields;
}

std::int64_t Dataset::steps(std::size_t field, std::int64_t i) const {
  const Column& column = columns_[field];
  const std::size_t at = static_cast<std::size_t>(i);
  if (column.depth == 0) return 1;
  const auto& begin = column.depth == 1 ? column.value_begin : column.length_begin;
  return begin[at + 1] - begin[at];
}

Vocabularies build_vocabularies(const DataSpec& data, const FeedPlan& plan) {
  Vocabularies vocabularies;
  const auto rules_of = [&](const FieldSpec& field) {
    VocabularyRules rules = field.vocabulary;
    for (const std::string& word : plan.words_of(field.name))
      if (std::find(rules.special.begin(), rules.special.end(), word) == rules.special.end()) rules.special.push_back(word);
    return rules;
  };
  for (const FieldSpec& field : data.fields)
    if (!field.vocabulary_file.empty())
      vocabularies.emplace(field.name,
                           Vocabulary::read(field.vocabulary_file, field.vocabulary.closed, rules_of(field).special));

  const auto built = chosen_fields(data, [](const FieldSpec& field) { return field.vocabulary_file.empty(); });
  if (built.empty()) return vocabularies;
  std::vector<VocabularyCounter> counters(built.size());
  each_record(data, data.train, columns_needed(data, built), [&](const Record& record, const std::string&) {
    for (std::size_t i = 0; i < built.size(); ++i)
      for (const std::string& symbol : units_of(data, *built[i], record).symbols) counters[i].add(symbol);
  });
  for (std::size_t i = 0; i < built.size(); ++i)
    vocabularies.emplace(built[i]->name, counters[i].build(rules_of(*built[i]), built[i]->name));
  return vocabularies;
}

Nested encode(const DataSpec& data, const FieldSpec& field, const Vocabulary& vocabulary, const Record& record,
              const std::string& file) {
  Nested value;
  Units units = units_of(data, field, record);
  value.depth = field_depth(data, field);
  value.lengths = std::move(units.lengths);
  value.values.reserve(units.symbols.size());
  for (const std::string& symbol : units.symbols) {
    const std::int32_t number = vocabulary.number(symbol);
    if (number < 0) {
      std::vector<std::string> notes;
      if (const std::string near = did_you_mean(symbol, vocabulary.entries()); !near.empty()) notes.push_back("help: " + near);
      data_error("E0644 unknown-entry", file, record.line, 0,
                 fmt::format("'{}' is not in the closed vocabulary of field '{}', which has {} entries", symbol, field.name,
                             vocabulary.size()),
                 std::move(notes));
    }
    value.values.push_back(number);
  }
  return value;
}

Dataset read_dataset(const DataSpec& data, const Vocabularies& vocabularies, const std::vector<std::string>& files,
                     const DatasetOptions& options) {
  Dataset set(data);
  const auto wanted = [&](const FieldSpec& field) { return options.fields.empty() || options.fields.count(field.name) != 0; };
  const auto read = [&](const Record& record, const std::string& file) {
    std::vector<Nested> fields(data.fields.size());
    bool too_long = false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const FieldSpec& field = data.fields[i];
      if (!wanted(field)) continue;
      fields[i] = encode(data, field, vocabularies.at(field.name), record, file);
      too_long = too_long || (options.training && field.longest > 0 && fields[i].steps() > field.longest);
    }
    if (data.format == Format::kStream)
      set.extend(fields);
    else if (too_long)
      set.count_dropped();
    else
      set.add(fields);
  };
  each_record(data, files, columns_needed(data, chosen_fields(data, wanted)), read, [&] { set.count_blank(); });
  if (set.size() == 0)
    throw UserError(
        ExitCode::kBadData, "E0649 no-examples",
        fmt::format("no example in {}{}", fmt::join(files, ", "),
                    set.dropped() ? fmt::format(": all {} are longer than a field's 'longest'", set.dropped()) : ""));
  return set;
}

}  // namespace graphrun
