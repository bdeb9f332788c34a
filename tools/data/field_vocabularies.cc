#include "tools/data/field_vocabularies.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "tools/data/told_at.h"
#include "tools/data/units.h"

namespace graphrun {
namespace {

bool owns(const FieldSpec& field) { return field.shares.empty(); }

// Whether the vocabulary is built from the training data.
bool built(const FieldSpec& field) { return !field.numbers && field.vocabulary_file.empty() && field.subword_model.empty(); }

bool cut_late(const FieldSpec& field) { return built(field) && field.in_subwords(); }

// Whether a built vocabulary may lack an entry of the data that it is built from, which is a mistake in the data.
bool may_refuse(const FieldSpec& field) {
  const VocabularyRules& rules = field.vocabulary;
  return built(field) && rules.closed && (rules.size > 0 || rules.min_count > 1);
}

// Reads the training files once. For fields whose vocabularies are to be built, entries are counted and stored under the
// counter's numbers; text to be split into subwords is stored like an entry. Given vocabularies are used directly. When the
// vocabularies are complete, the numbers are replaced in place. If only the final numbers determine an example's length or
// whether it is allowed, the set is instead built again from one that contains every record.
class TrainingReader {
 public:
  // `given`: the known vocabularies. `keep`: whether examples are kept.
  TrainingReader(const DataSpec& data, const Vocabularies& given, bool keep)
      : data_(data), given_(given), keep_(keep), again_(any_field(cut_late) || (keep && any_field(may_refuse))) {
    if (keep_ || again_) set_.emplace(data_, room());
  }

  // Throws errors in the fields whose vocabularies are built.
  void read() {
    const auto read = [&](const Record& record) { take(record); };
    const auto fields = chosen_fields(data_, [&](const FieldSpec& field) { return keep_ || built(field); });
    told_at(data_.at.train, [&] { each_record(data_, data_.train, layout_of(data_, fields), read, [&] { ++blank_; }); });
    if (records_ == 0 && !data_.train.empty()) no_examples(data_.at.train, data_.train);
    if (again_) set_->close();
  }

  const VocabularyCounter& counter(const FieldSpec& owner) { return counters_[owner.name]; }

  // The texts that the subwords of that field split, in the order of the data.
  TextSource texts(const FieldSpec& owner) {
    std::vector<std::size_t> fields;
    for (std::size_t i = 0; i < data_.fields.size(); ++i) {
      if (data_.fields[i].vocabulary_of() == owner.name) fields.push_back(i);
    }
    struct {
      std::int64_t record = 0;
      std::size_t field = 0, text = 0;
    } at;
    return [this, &counter = counters_[owner.name], fields, at](std::string_view& text) mutable {
      while (at.record < set_->size()) {
        const auto numbers = set_->values(fields[at.field], at.record);
        if (at.text < numbers.size()) {
          text = counter.entry(numbers[at.text++]);
          if (!text.empty()) return true;
          continue;
        }
        at.text = 0;
        if (++at.field < fields.size()) continue;
        at.field = 0;
        ++at.record;
      }
      return false;
    };
  }

  // The examples, with the numbers of these vocabularies.
  ReadExamples examples(const Vocabularies& vocabularies) {
    return told_at(data_.at.train, [&] {
      if (again_) {
        read_again(vocabularies);
      } else {
        renumber(vocabularies);
      }
      set_->count_blank(blank_);
      close_set(data_, vocabularies, *set_);
      return ReadExamples(std::move(*set_), std::move(places_), mistake_.error);
    });
  }

 private:
  struct Mistake {
    std::int64_t record = 0;
    std::size_t field = 0;
    std::exception_ptr error;  // null if there is none
  };

  bool any_field(bool (*is)(const FieldSpec&)) const { return std::any_of(data_.fields.begin(), data_.fields.end(), is); }
  // If one set is built from another, the two share the memory.
  std::int64_t room() const { return numbers_in_memory() / (keep_ && again_ ? 2 : 1); }

  void take(const Record& record) {
    std::vector<Nested> fields(data_.fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const FieldSpec& field = data_.fields[i];
      if (built(field)) {
        Nested value = counted(field, record);
        if (keep_ || cut_late(field)) fields[i] = std::move(value);
      } else if (keep_ && !mistake_.error) {
        guarded(records_, i, [&] { fields[i] = encode(data_, field, given_, record); });
      }
    }
    ++records_;
    if (!set_) return;
    // Reading continues after a mistake, because the rest may contain text for subwords.
    if (again_) {
      set_->add(fields);
    } else if (mistake_.error || !add_example(data_, true, fields, *set_)) {
      return;
    }
    if (keep_) places_.add(record);
  }

  Nested counted(const FieldSpec& field, const Record& record) {
    VocabularyCounter& counter = counters_[field.vocabulary_of()];
    Units units = cut_late(field) ? uncut_units(data_, field, record) : units_of(data_, field, record);
    Nested value{field_depth(data_, field), {}, std::move(units.lengths)};
    value.values.reserve(units.symbols.size());
    for (const std::string& symbol : units.symbols) value.values.push_back(counter.add(symbol));
    return value;
  }

  // Stores the error that `action` throws about the data.
  template <class Action>
  void guarded(std::int64_t record, std::size_t field, const Action& action) {
    try {
      action();
    } catch (const UserError&) {
      mistake_ = {record, field, std::current_exception()};
    }
  }

  void renumber(const Vocabularies& vocabularies) {
    for (std::size_t i = 0; i < data_.fields.size(); ++i) {
      const FieldSpec& field = data_.fields[i];
      if (built(field)) set_->renumber(i, counters_[field.vocabulary_of()].numbers_in(vocabularies.at(field.name)));
    }
  }

  void read_again(const Vocabularies& vocabularies) {
    const Dataset records = std::move(*set_);
    const RecordPlaces places = std::exchange(places_, RecordPlaces());
    set_.emplace(data_, room());
    const auto wrong = [&](std::int64_t record, std::size_t field) {
      return mistake_.error && mistake_.record == record && mistake_.field == field;
    };
    for (std::int64_t r = 0; r < records.size(); ++r) {
      const Record record = places.record(r);
      std::vector<Nested> fields = records.example(r);
      for (std::size_t i = 0; i < fields.size(); ++i) {
        const FieldSpec& field = data_.fields[i];
        if (built(field)) {
          guarded(r, i, [&] { fields[i] = numbered(field, vocabularies.at(field.name), record, std::move(fields[i])); });
        }
        if (wrong(r, i)) return;
      }
      if (add_example(data_, true, fields, *set_)) places_.add(record);
    }
  }

  Nested numbered(const FieldSpec& field, const Vocabulary& vocabulary, const Record& record, Nested kept) {
    const VocabularyCounter& counter = counters_[field.vocabulary_of()];
    Units units;
    units.lengths = std::move(kept.lengths);
    for (const std::int32_t number : kept.values) units.symbols.push_back(counter.entry(number));
    if (cut_late(field)) units = cut_units(data_, field, record, units, *vocabulary.form().subwords);
    return encode_units(data_, field, vocabulary, record, units);
  }

  const DataSpec& data_;
  const Vocabularies& given_;
  const bool keep_, again_;
  std::map<std::string, VocabularyCounter> counters_;  // by field that owns the vocabulary
  std::optional<Dataset> set_;
  RecordPlaces places_;  // locations of the examples in set_, if they are kept
  std::int64_t records_ = 0, blank_ = 0;
  Mistake mistake_;  // the first mistake in fields that are not built
};

class VocabularyBuilder {
 public:
  VocabularyBuilder(const DataSpec& data, const FeedPlan& plan) : data_(data), plan_(plan) {}

  Vocabularies build(std::optional<ReadExamples>* examples) {
    add_all([](const FieldSpec& field) { return !field.numbers && !built(field); },
            [this](const FieldSpec& field) { return read(field); });
    if (std::none_of(data_.fields.begin(), data_.fields.end(), built)) return std::move(vocabularies_);
    TrainingReader reader(data_, vocabularies_, examples != nullptr);
    reader.read();
    add_all(built, [&](const FieldSpec& field) { return made(field, reader); });
    if (examples != nullptr) examples->emplace(reader.examples(vocabularies_));
    return std::move(vocabularies_);
  }

 private:
  // Adds the vocabularies of some fields; their owners must be among them.
  template <class Make>
  void add_all(bool (*chosen)(const FieldSpec&), const Make& make) {
    for (const FieldSpec& field : data_.fields) {
      if (chosen(field) && owns(field)) vocabularies_.emplace(field.name, make(field));
    }
    for (const FieldSpec& field : data_.fields) {
      if (chosen(field) && !owns(field)) vocabularies_.emplace(field.name, vocabularies_.at(field.shares));
    }
    for (const FieldSpec& field : data_.fields) {
      if (chosen(field)) set_text_form(data_, field, vocabularies_.at(field.name));
    }
  }

  // The rules of the job, plus the words that feeds join, also to fields that share the vocabulary.
  VocabularyRules rules_of(const FieldSpec& field) const {
    VocabularyRules rules = field.vocabulary;
    const auto add = [&](const std::string& entry) {
      if (std::find(rules.special.begin(), rules.special.end(), entry) == rules.special.end()) rules.special.push_back(entry);
    };
    for (const FieldSpec& user : data_.fields) {
      if (user.vocabulary_of() == field.name) {
        for (const std::string& word : plan_.words_of(user.name)) add(word);
      }
    }
    // The end-of-line entry of a stream is not text to be split.
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

  Vocabulary made(const FieldSpec& field, TrainingReader& reader) const {
    const VocabularyRules rules = rules_of(field);
    if (!field.in_subwords()) return reader.counter(field).build(rules, field.name);
    // SentencePiece counts its unknown piece, which is among the special entries already.
    const auto special = static_cast<std::int64_t>(rules.special.size());
    const SubwordTraining training{field.subword_kind, rules.size - special, field.coverage, field.name};
    return vocabulary_of_subwords(Subwords::train(training, reader.texts(field)), rules, field.name);
  }

  const DataSpec& data_;
  const FeedPlan& plan_;
  Vocabularies vocabularies_;
};

}  // namespace

Vocabularies build_vocabularies(const DataSpec& data, const FeedPlan& plan, std::optional<ReadExamples>* examples) {
  return VocabularyBuilder(data, plan).build(examples);
}

void set_text_form(const DataSpec& data, const FieldSpec& field, Vocabulary& vocabulary) {
  TextForm form = vocabulary.form();
  const bool characters = !field.splits.empty() && field.splits.back() == Split::kCharacter;
  // The characters of a SEGMENTED line do not include the spaces between its words, and characters of words do not include word
  // ends.
  form.spaces = !(characters && field_depth(data, field) == 1 && data.format != Format::kSegmented);
  form.joiner = field.joiner;
  if (!field.in_subwords()) form.subwords = nullptr;
  vocabulary.set_form(std::move(form));
}

}  // namespace graphrun
