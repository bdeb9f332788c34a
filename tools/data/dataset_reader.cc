#include "tools/data/dataset_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/data/numbers.h"
#include "tools/data/told_at.h"

namespace graphrun {
namespace {

// Feeds that the network needs and that some examples may not fit. The examples of a stream are made by batches.
std::vector<std::size_t> feeds_to_check(const DataSpec& data, const FeedPlan& plan) {
  std::vector<std::size_t> feeds;
  for (std::size_t i = 0; data.format != Format::kStream && i < plan.feeds().size(); ++i) {
    if (plan.feeds()[i].needed && plan.may_not_fit(i)) feeds.push_back(i);
  }
  return feeds;
}

void check_feeds(const FeedPlan& plan, const std::vector<std::size_t>& feeds, const std::vector<Nested>& fields,
                 const Record& record) {
  if (feeds.empty()) return;
  told_at(record.place(), [&] {
    for (const std::size_t feed : feeds) plan.evaluate(feed, fields);
  });
}

void check_any(const Dataset& set, const Location& at, const std::vector<std::string>& files) {
  if (set.size() > 0) return;
  no_examples(at, files, set.dropped() ? fmt::format(": all {} are longer than a field's 'longest'", set.dropped()) : "");
}

}  // namespace

std::vector<const FieldSpec*> chosen_fields(const DataSpec& data, const std::function<bool(const FieldSpec&)>& chosen) {
  std::vector<const FieldSpec*> fields;
  for (const FieldSpec& field : data.fields) {
    if (chosen(field)) fields.push_back(&field);
  }
  return fields;
}

void no_examples(const Location& at, const std::vector<std::string>& files, const std::string& why) {
  throw UserError(
      ExitCode::kBadData,
      {{Severity::kError, "E0649 no-examples", at, fmt::format("no example in {}{}", fmt::join(files, ", "), why), {}}});
}

bool add_example(const DataSpec& data, bool training, const std::vector<Nested>& fields, Dataset& set) {
  for (std::size_t i = 0; training && i < fields.size(); ++i) {
    if (data.fields[i].longest == 0 || fields[i].steps() <= data.fields[i].longest) continue;
    set.count_dropped(i);
    return false;
  }
  data.format == Format::kStream ? set.extend(fields) : set.add(fields);
  return true;
}

void close_set(const DataSpec& data, const Vocabularies& vocabularies, Dataset& set) {
  set.close();
  for (std::size_t field = 0; field < data.fields.size(); ++field) {
    const auto vocabulary = vocabularies.find(data.fields[field].name);
    const std::int32_t unknown = vocabulary == vocabularies.end() ? -1 : vocabulary->second.unknown();
    for (std::int64_t i = 0; i < set.size(); ++i) {
      const auto values = set.values(field, i);
      if (data.fields[field].numbers) {
        set.count_numbers(field, values);
      } else {
        set.count_entries(field, static_cast<std::int64_t>(values.size()),
                          unknown < 0 ? 0 : std::count(values.begin(), values.end(), unknown));
      }
    }
  }
}

Nested encode(const DataSpec& data, const FieldSpec& field, const Vocabularies& vocabularies, const Record& record) {
  if (field.numbers) return numbers_in(data, field, record);
  const Vocabulary& vocabulary = vocabularies.at(field.name);
  return encode_units(data, field, vocabulary, record, units_of(data, field, record, vocabulary.form().subwords.get()));
}

Nested encode_units(const DataSpec& data, const FieldSpec& field, const Vocabulary& vocabulary, const Record& record,
                    const Units& units) {
  Nested value;
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
  std::vector<std::size_t> checked;
  if (options.plan != nullptr) checked = feeds_to_check(data, *options.plan);
  const auto read = [&](const Record& record) {
    std::vector<Nested> fields(data.fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (wanted(data.fields[i])) fields[i] = encode(data, data.fields[i], vocabularies, record);
    }
    if (!add_example(data, options.training, fields, set)) return;
    if (options.plan != nullptr) check_feeds(*options.plan, checked, fields, record);
    for (const FieldSpec& field : data.fields) {
      if (options.texts.count(field.name) != 0) set.keep_text(field.name, text_in(data, field, record));
    }
  };
  told_at(options.at,
          [&] { each_record(data, files, layout_of(data, chosen_fields(data, wanted)), read, [&] { set.count_blank(); }); });
  check_any(set, options.at, files);
  close_set(data, vocabularies, set);
  return set;
}

Dataset ReadExamples::take(const DataSpec& data, const FeedPlan& plan) && {
  const std::vector<std::size_t> checked = feeds_to_check(data, plan);
  told_at(data.at.train, [&] {
    for (std::int64_t i = 0; !checked.empty() && i < set_.size(); ++i) {
      check_feeds(plan, checked, set_.example(i), places_.record(i));
    }
    if (mistake_) std::rethrow_exception(mistake_);
  });
  check_any(set_, data.at.train, data.train);
  return std::move(set_);
}

}  // namespace graphrun
