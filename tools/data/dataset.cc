#include "tools/data/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "tools/data/numbers.h"
#include "tools/data/told_at.h"
#include "tools/data/units.h"

namespace graphrun {
namespace {

std::vector<const FieldSpec*> chosen_fields(const DataSpec& data, const std::function<bool(const FieldSpec&)>& chosen) {
  std::vector<const FieldSpec*> fields;
  for (const FieldSpec& field : data.fields)
    if (chosen(field)) fields.push_back(&field);
  return fields;
}

[[noreturn]] void no_examples(const Location& at, const std::vector<std::string>& files, const std::string& why = "") {
  throw UserError(
      ExitCode::kBadData,
      {{Severity::kError, "E0649 no-examples", at, fmt::format("no example in {}{}", fmt::join(files, ", "), why), {}}});
}

// Every record that is not empty; `blank` is called for the others.
void each_record(
    const DataSpec& data, const std::vector<std::string>& files, const RecordLayout& layout,
    const std::function<void(const Record&)>& visit, const std::function<void()>& blank = [] {}) {
  const std::size_t together = files_side_by_side(data);
  if (files.size() % together != 0)
    throw UserError(ExitCode::kBadData, "E0653 unequal-files",
                    fmt::format("{}, where {} stand side by side: {}", counted(static_cast<std::int64_t>(files.size()), "file"),
                                together, fmt::join(files, ", ")),
                    {"help: one file for each column, group by group"});
  for (std::size_t first = 0; first < files.size(); first += together) {
    std::vector<std::unique_ptr<LineReader>> lines;
    for (std::size_t i = 0; i < together; ++i) lines.push_back(std::make_unique<LineReader>(files[first + i]));
    RecordReader reader(std::move(lines), layout);
    Record record;
    while (reader.next(record)) {
      // A blank line of a stream is an end of line like any other; between sentences of CONLL it is no example.
      if (!record.empty || data.format == Format::kStream)
        visit(record);
      else if (data.format != Format::kConll)
        blank();
    }
  }
}

}  // namespace

std::int64_t numbers_in_memory() {
  const char* const said = std::getenv("GRAPHRUN_DATA_MEMORY");
  if (said == nullptr || *said == '\0') return kNumbersInMemory;
  const std::string_view text = said;
  std::int64_t bytes = -1;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), bytes);
  if (error != std::errc() || end != text.end() || bytes < 0)
    throw UserError(ExitCode::kUsage, "E0429 bad-options",
                    fmt::format("GRAPHRUN_DATA_MEMORY is '{}'; expected a number of bytes", text),
                    {"help: so much of a data set stays in memory, and what is larger lies in a file; 536870912 unless given"});
  return bytes / static_cast<std::int64_t>(sizeof(std::int32_t));
}

Dataset::Dataset(const DataSpec& data, std::int64_t in_memory) : counts_(data.fields.size()) {
  std::int64_t stores = 0;
  for (const FieldSpec& field : data.fields) stores += field_depth(data, field) == kDeepest ? 2 : 1;
  const std::int64_t each = in_memory / std::max<std::int64_t>(stores, 1);
  columns_.reserve(data.fields.size());
  for (const FieldSpec& field : data.fields)
    columns_.push_back({field_depth(data, field), NumberStore(each), NumberStore(each), {0}, {0}});
}

std::int64_t Dataset::dropped() const {
  std::int64_t dropped = 0;
  for (const FieldCounts& counts : counts_) dropped += counts.too_long;
  return dropped;
}

bool Dataset::on_disk() const {
  return std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return column.values.on_disk(); });
}

void Dataset::add(const std::vector<Nested>& fields) {
  ++size_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    column.values.append(fields[i].values);
    column.value_begin.push_back(column.values.size());
    counts_[i].longest = std::max(counts_[i].longest, fields[i].steps());
    if (column.depth < kDeepest) continue;
    column.lengths.append(fields[i].lengths);
    column.length_begin.push_back(column.lengths.size());
  }
}

void Dataset::extend(const std::vector<Nested>& fields) {
  if (size_ == 0) return add(fields);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    column.values.append(fields[i].values);
    column.value_begin.back() = column.values.size();
    counts_[i].longest = column.values.size();
  }
}

void Dataset::count_entries(std::size_t field, std::int64_t entries, std::int64_t unknown) {
  counts_[field].entries += entries;
  counts_[field].unknown += unknown;
}

void Dataset::count_numbers(std::size_t field, std::span<const std::int32_t> bits) {
  FieldCounts& counts = counts_[field];
  for (const std::int32_t kept : bits) {
    const float number = float_of(kept);
    counts.least = counts.entries == 0 ? number : std::min(counts.least, number);
    counts.greatest = counts.entries == 0 ? number : std::max(counts.greatest, number);
    ++counts.entries;
  }
}

void Dataset::close() {
  for (Column& column : columns_) {
    column.values.close();
    column.lengths.close();
  }
}

std::span<const std::int32_t> Dataset::values(std::size_t field, std::int64_t i) const {
  const Column& column = columns_[field];
  const std::size_t at = static_cast<std::size_t>(i);
  return column.values.read(column.value_begin[at], column.value_begin[at + 1]);
}

std::vector<Nested> Dataset::example(std::int64_t i) const {
  std::vector<Nested> fields;
  fields.reserve(columns_.size());
  const std::size_t at = static_cast<std::size_t>(i);
  for (std::size_t field = 0; field < columns_.size(); ++field) {
    const Column& column = columns_[field];
    Nested value;
    value.depth = column.depth;
    const auto numbers = values(field, i);
    value.values.assign(numbers.begin(), numbers.end());
    if (column.depth == kDeepest) {
      const auto lengths = column.lengths.read(column.length_begin[at], column.length_begin[at + 1]);
      value.lengths.assign(lengths.begin(), lengths.end());
    }
    fields.push_back(std::move(value));
  }
  return fields;
}

const std::string& Dataset::text(const std::string& field, std::int64_t i) const {
  const auto texts = texts_.find(field);
  GRAPHRUN_CHECK(texts != texts_.end(), "Dataset::text: none was kept of field " + field);
  return texts->second[static_cast<std::size_t>(i)];
}

std::int64_t Dataset::steps(std::size_t field, std::int64_t i) const {
  const Column& column = columns_[field];
  const std::size_t at = static_cast<std::size_t>(i);
  if (column.depth == 0) return 1;
  const auto& begin = column.depth == 1 ? column.value_begin : column.length_begin;
  return begin[at + 1] - begin[at];
}

namespace {

class VocabularyBuilder {
 public:
  VocabularyBuilder(const DataSpec& data, const FeedPlan& plan) : data_(data), plan_(plan) {}

  Vocabularies build() {
    for (const FieldSpec& field : data_.fields)
      if (owns(field) && given(field)) vocabularies_.emplace(field.name, read(field));
    const auto built = chosen_fields(data_, [](const FieldSpec& field) { return !field.numbers && !given(field); });
    if (!built.empty()) read_training(built);
    for (const FieldSpec* field : built)
      if (owns(*field)) vocabularies_.emplace(field->name, made(*field));
    for (const FieldSpec& field : data_.fields)
      if (!owns(field)) vocabularies_.emplace(field.name, vocabularies_.at(field.shares));
    for (const FieldSpec& field : data_.fields)
      if (!field.numbers) set_text_form(data_, field, vocabularies_.at(field.name));
    return std::move(vocabularies_);
  }

 private:
  static bool owns(const FieldSpec& field) { return field.shares.empty(); }
  static bool given(const FieldSpec& field) { return !field.vocabulary_file.empty() || !field.subword_model.empty(); }

  // The job's own, and the words that feeds write, also to fields that share it.
  VocabularyRules rules_of(const FieldSpec& field) const {
    VocabularyRules rules = field.vocabulary;
    const auto add = [&](const std::string& entry) {
      if (std::find(rules.special.begin(), rules.special.end(), entry) == rules.special.end()) rules.special.push_back(entry);
    };
    for (const FieldSpec& user : data_.fields)
      if (user.vocabulary_of() == field.name)
        for (const std::string& word : plan_.words_of(user.name)) add(word);
    // A stream's ends of lines are no text that could be cut.
    if (data_.format == Format::kStream && field.in_subwords()) add(data_.end_of_line);
    return rules;
  }

  Vocabulary read(const FieldSpec& field) const {
    const VocabularyRules rules = rules_of(field);
    return told_at(field.vocabulary_at, [&] {
      if (field.in_subwords()) return vocabulary_of_subwords(Subwords::read(field.subword_model), rules, field.name);
      return Vocabulary::read(field.vocabulary_file, field.vocabulary.closed, rules.special);
    });
  }

  void read_training(const std::vector<const FieldSpec*>& built) {
    bool any = false;
    const auto count = [&](const Record& record) {
      any = true;
      for (const FieldSpec* field : built) {
        if (field->in_subwords()) {
          std::vector<std::string>& texts = texts_[field->vocabulary_of()];
          for (std::string& text : texts_to_cut(data_, *field, record)) texts.push_back(std::move(text));
        } else {
          VocabularyCounter& counter = counters_[field->vocabulary_of()];
          for (const std::string& symbol : units_of(data_, *field, record).symbols) counter.add(symbol);
        }
      }
    };
    told_at(data_.at.train, [&] { each_record(data_, data_.train, layout_of(data_, built), count); });
    if (!any && !data_.train.empty()) no_examples(data_.at.train, data_.train);
  }

  Vocabulary made(const FieldSpec& field) {
    VocabularyRules rules = rules_of(field);
    if (!field.in_subwords()) return counters_[field.name].build(rules, field.name);
    // SentencePiece counts its unknown piece, which stands among the special entries already.
    const auto special = static_cast<std::int64_t>(rules.special.size());
    const SubwordTraining training{field.subword_kind, rules.size - special, field.coverage, field.name};
    return vocabulary_of_subwords(Subwords::train(training, texts_[field.name]), rules, field.name);
  }

  const DataSpec& data_;
  const FeedPlan& plan_;
  Vocabularies vocabularies_;
  std::map<std::string, VocabularyCounter> counters_;  // by the field that owns the vocabulary
  std::map<std::string, std::vector<std::string>> texts_;
};

}  // namespace

Vocabularies build_vocabularies(const DataSpec& data, const FeedPlan& plan) { return VocabularyBuilder(data, plan).build(); }

void set_text_form(const DataSpec& data, const FieldSpec& field, Vocabulary& vocabulary) {
  TextForm form = vocabulary.form();
  const bool characters = !field.splits.empty() && field.splits.back() == Split::kCharacter;
  // Characters of a SEGMENTED line come without the spaces between its words, and those of words without the words' ends.
  form.spaces = !(characters && field_depth(data, field) == 1 && data.format != Format::kSegmented);
  form.joiner = field.joiner;
  if (!field.in_subwords()) form.subwords = nullptr;
  vocabulary.set_form(std::move(form));
}

Nested encode(const DataSpec& data, const FieldSpec& field, const Vocabularies& vocabularies, const Record& record) {
  if (field.numbers) return numbers_in(data, field, record);
  const Vocabulary& vocabulary = vocabularies.at(field.name);
  Nested value;
  const Units units = units_of(data, field, record, vocabulary.form().subwords.get());
  value.depth = field_depth(data, field);
  value.lengths = units.lengths;
  value.values.reserve(units.symbols.size());
  for (const std::string& symbol : units.symbols) {
    const std::int32_t number = vocabulary.number(symbol);
    if (number < 0) {
      std::vector<std::string> notes;
      if (const std::string near = did_you_mean(symbol, vocabulary.entries()); !near.empty()) notes.push_back("help: " + near);
      data_error("E0644 unknown-entry", record.file(data.format == Format::kParallel ? field.column : 0),
                 line_of(data, record, units, value.values.size()), 0,
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
  Dataset set(data, options.in_memory);
  const auto wanted = [&](const FieldSpec& field) { return options.fields.empty() || options.fields.count(field.name) != 0; };
  std::vector<std::size_t> checked;  // feeds
  for (std::size_t i = 0; options.plan != nullptr && data.format != Format::kStream && i < options.plan->feeds().size(); ++i)
    if (options.plan->feeds()[i].needed && options.plan->may_not_fit(i)) checked.push_back(i);
  const auto read = [&](const Record& record) {
    std::vector<Nested> fields(data.fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const FieldSpec& field = data.fields[i];
      if (wanted(field)) fields[i] = encode(data, field, vocabularies, record);
    }
    for (std::size_t i = 0; options.training && i < fields.size(); ++i)
      if (data.fields[i].longest > 0 && fields[i].steps() > data.fields[i].longest) return set.count_dropped(i);
    if (!checked.empty())
      told_at(record.place(), [&] {
        for (const std::size_t feed : checked) options.plan->evaluate(feed, fields);
      });
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!wanted(data.fields[i])) continue;
      const std::vector<std::int32_t>& values = fields[i].values;
      if (data.fields[i].numbers) {
        set.count_numbers(i, values);
        continue;
      }
      const std::int32_t unknown = vocabularies.at(data.fields[i].name).unknown();
      set.count_entries(i, static_cast<std::int64_t>(values.size()),
                        unknown < 0 ? 0 : std::count(values.begin(), values.end(), unknown));
    }
    for (const FieldSpec& field : data.fields)
      if (options.texts.count(field.name) != 0) set.keep_text(field.name, text_in(data, field, record));
    data.format == Format::kStream ? set.extend(fields) : set.add(fields);
  };
  told_at(options.at,
          [&] { each_record(data, files, layout_of(data, chosen_fields(data, wanted)), read, [&] { set.count_blank(); }); });
  if (set.size() == 0)
    no_examples(options.at, files,
                set.dropped() ? fmt::format(": all {} are longer than a field's 'longest'", set.dropped()) : "");
  set.close();
  return set;
}

}  // namespace graphrun
