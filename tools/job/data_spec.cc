#include "tools/job/data_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "tools/job/problems.h"
#include "tools/text/utf8.h"
#include "tools/text/vocabulary.h"

namespace graphrun {
namespace {

constexpr int kMostRows = 1 << 20;
constexpr int kMostColumns = 9999;

bool identifier(const std::string& name) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) && std::all_of(name.begin(), name.end(), part);
}

class DataReader {
 public:
  DataReader(const Job& job, const Places& places, const std::string& folder, Problems& problems)
      : data_(job.data()), places_(inside(places, "data")), folder_(folder), problems_(problems) {}

  DataSpec read() {
    const std::size_t before = problems_.count();
    spec_.at = {places_.location("train"), places_.location("valid"), places_.location("test"), places_.location("feed"),
                inside(places_, "batch").location("rows")};
    spec_.train = files(data_.train());
    spec_.valid = files(data_.valid());
    spec_.test = files(data_.test());
    read_format();
    for (int i = 0; i < data_.field_size(); ++i) {
      read_field(data_.field(i), inside(places_, "field", static_cast<std::size_t>(i)));
    }
    if (data_.field_size() == 0) {
      problems_.missing(places_.at, "data has no field", "field { name: \"words\" split: SPACE }, say");
    }
    share_vocabularies();
    check_files();
    spec_.sound = problems_.count() == before;
    read_feeds();
    read_batch();
    return std::move(spec_);
  }

 private:
  std::vector<std::string> files(const google::protobuf::RepeatedPtrField<std::string>& paths) const {
    std::vector<std::string> files;
    for (const std::string& path : paths) files.push_back(path_in(folder_, path));
    return files;
  }

  // PARALLEL: the number of files must be a multiple of the number of columns.
  void check_files() {
    const std::size_t together = files_side_by_side(spec_);
    const auto check = [&](const char* part, std::size_t files) {
      if (files % together == 0) return;
      problems_.bad(places_.location(part), fmt::format("{}, in groups of {} parallel files", counted(files, "file"), together),
                    "one file for each column, group by group: [\"a.de\", \"a.en\", \"b.de\", \"b.en\"]");
    };
    check("train", spec_.train.size());
    check("valid", spec_.valid.size());
    check("test", spec_.test.size());
  }

  void read_format() {
    switch (data_.format()) {
      case Job::Data::LINES: spec_.format = Format::kLines; break;
      case Job::Data::CONLL: spec_.format = Format::kConll; break;
      case Job::Data::SEGMENTED: spec_.format = Format::kSegmented; break;
      case Job::Data::STREAM: spec_.format = Format::kStream; break;
      case Job::Data::TSV: spec_.format = Format::kTsv; break;
      case Job::Data::PARALLEL: spec_.format = Format::kParallel; break;
      case Job::Data::JSONL: spec_.format = Format::kJsonl; break;
      default: break;  // the parser lets no other number through
    }
    if (data_.end_of_line().empty()) return;
    const auto points = code_points(data_.end_of_line());
    if (spec_.format != Format::kStream) {
      problems_.bad(places_.location("end_of_line"), "only a STREAM has an end_of_line symbol");
    } else if (std::any_of(points.begin(), points.end(), is_space)) {
      problems_.bad(places_.location("end_of_line"), "a symbol has no white space in it");
    }
    spec_.end_of_line = data_.end_of_line();
  }

  void read_field(const Job::Field& field, const Places& places) {
    FieldSpec f;
    f.name = field.name();
    f.at = places.location("name");
    f.column = field.column();
    f.longest = field.longest();
    f.key = field.key().empty() ? field.name() : field.key();
    f.numbers = field.type() == Job::Field::FLOAT;
    read_splits(field, places, f);
    f.joiner = field.joiner();
    if (!f.joiner.empty() && !f.numbers && (f.splits.empty() || f.splits.back() != Split::kSpace)) {
      problems_.bad(places.location("joiner"), "only words have a joiner: expected split: SPACE");
    }
    for (const int form : field.normalize()) f.normalize.push_back(static_cast<Normalize>(form));
    f.derive = field.derive() == Job::Field::BMES && !f.numbers ? Derive::kBmes : Derive::kGiven;
    if (!f.normalize.empty() && f.derive == Derive::kBmes) {
      problems_.bad(places.location("normalize"),
                    "the tags of derive: BMES have no other form; expected normalize in the field of the characters");
    }
    if (!identifier(f.name)) {
      problems_.bad(f.at, fmt::format("a field named '{}'; expected a name of letters, digits and _", f.name));
    }
    if (spec_.field(f.name)) problems_.twice(f.at, fmt::format("a second field '{}'", f.name));
    if (f.column < 0) problems_.bad(places.location("column"), fmt::format("column {}; columns count from 0", f.column));
    if (f.longest < 0) {
      problems_.bad(places.location("longest"), fmt::format("longest {}; expected 0 (no limit) or more", f.longest));
    }
    check_format(f, places);
    if (f.numbers) {
      check_numbers(places);
    } else {
      read_vocabulary(field.vocabulary(), inside(places, "vocabulary"), f);
    }
    spec_.fields.push_back(std::move(f));
  }

  // Reports settings of FLOAT fields that require a vocabulary.
  void check_numbers(const Places& places) {
    for (const char* setting : {"vocabulary", "derive", "normalize", "joiner"}) {
      if (places.fields.count(setting) != 0) {
        problems_.bad(places.location(setting), fmt::format("{} is of entries, and a FLOAT field holds numbers", setting),
                      "leave either it or type: FLOAT out");
      }
    }
  }

  void read_splits(const Job::Field& field, const Places& places, FieldSpec& f) {
    for (int i = 0; i < field.split_size(); ++i) {
      const Location at = places.location("split", static_cast<std::size_t>(i));
      switch (field.split(i)) {
        case Job::Field::NONE:
          if (field.split_size() > 1) problems_.bad(at, "NONE together with other splits; expected either");
          break;
        case Job::Field::SPACE: f.splits.push_back(Split::kSpace); break;
        case Job::Field::CHARACTER: f.splits.push_back(Split::kCharacter); break;
        case Job::Field::LIST:
          if (spec_.format != Format::kJsonl) problems_.bad(at, "only JSONL has lists");
          if (!f.splits.empty() && f.splits.back() != Split::kList) {
            problems_.bad(at, "a text has no list in it: LIST comes first");
          }
          f.splits.push_back(Split::kList);
          break;
        case Job::Field::BPE:
        case Job::Field::UNIGRAM:
          f.splits.push_back(Split::kSubwords);
          f.subword_kind = field.split(i) == Job::Field::BPE ? SubwordKind::kBpe : SubwordKind::kUnigram;
          break;
        default: break;  // the parser lets no other number through
      }
      if (f.numbers && !f.splits.empty() && (f.splits.back() == Split::kCharacter || f.splits.back() == Split::kSubwords)) {
        problems_.bad(at, "numbers are not cut into characters or subwords; expected SPACE, LIST, or no split");
      }
      const Split* const before = f.splits.size() > 1 ? &f.splits[f.splits.size() - 2] : nullptr;
      if (before != nullptr && *before == Split::kCharacter) problems_.bad(at, "a character can't be split any further");
      if (before != nullptr && *before == Split::kSubwords) problems_.bad(at, "a subword can't be split any further");
      if (f.splits.size() > 1 && f.splits.back() == Split::kSpace && f.splits[f.splits.size() - 2] == Split::kSpace) {
        problems_.bad(at, "a word has no white space to split at");
      }
    }
    if (field_depth(spec_, f) > kDeepest) {
      problems_.bad(places.location("split"),
                    fmt::format("the splits make {} sequence dimensions{}; at most {} are possible", field_depth(spec_, f),
                                spec_.format == Format::kConll ? ", the tokens of a sentence being one" : "", kDeepest));
    }
  }

  // Checks that the settings of a field fit the format.
  void check_format(const FieldSpec& f, const Places& places) {
    const bool columns = spec_.format == Format::kConll || spec_.format == Format::kTsv || spec_.format == Format::kParallel;
    if (f.column > 0 && !columns) problems_.bad(places.location("column"), "only CONLL, TSV and PARALLEL have columns");
    if (f.column > kMostColumns) {
      problems_.bad(places.location("column"), fmt::format("column {}; at most {} are possible", f.column, kMostColumns));
    }
    if (places.fields.count("key") != 0 && spec_.format != Format::kJsonl) {
      problems_.bad(places.location("key"), "only JSONL has keys");
    }
    if (f.numbers && (spec_.format == Format::kSegmented || spec_.format == Format::kStream)) {
      return problems_.bad(places.location("type"),
                           fmt::format("{} is text; only LINES, TSV, PARALLEL, JSONL and CONLL hold numbers",
                                       Job::Data::Format_Name(data_.format())));
    }
    if (f.derive == Derive::kBmes) {
      if (spec_.format != Format::kSegmented) {
        problems_.bad(places.location("derive"), "BMES is derived only from SEGMENTED data");
      }
      if (!f.splits.empty()) problems_.bad(places.location("split"), "a derived field is not split");
      return;
    }
    const bool split_needed = spec_.format == Format::kSegmented || spec_.format == Format::kStream;
    if (spec_.format == Format::kStream && f.splits.size() > 1) {
      problems_.bad(places.location("split"), "a STREAM is one sequence: expected one split");
    }
    if (split_needed && f.splits.empty()) {
      problems_.missing(f.at, fmt::format("field '{}' needs a split: {}", f.name,
                                          spec_.format == Format::kStream ? "SPACE, CHARACTER, BPE or UNIGRAM"
                                                                          : "CHARACTER, SPACE, BPE, UNIGRAM, or derive: BMES"));
    }
    if (spec_.format == Format::kStream && f.longest > 0) {
      problems_.bad(places.location("longest"), "a STREAM is one text: it has no examples that could be too long");
    }
  }

  void read_vocabulary(const Job::Vocabulary& vocabulary, const Places& places, FieldSpec& f) {
    f.shares = vocabulary.share();
    f.vocabulary.size = vocabulary.size();
    f.vocabulary.min_count = vocabulary.min_count();
    f.vocabulary.closed = vocabulary.closed();
    f.vocabulary.special.assign(vocabulary.special().begin(), vocabulary.special().end());
    if (!vocabulary.file().empty()) f.vocabulary_file = path_in(folder_, vocabulary.file());
    f.vocabulary_at = places.location(vocabulary.file().empty() ? "model" : "file");
    if (vocabulary.size() < 0) problems_.bad(places.location("size"), "a negative size; 0 is no limit");
    if (vocabulary.min_count() < 0) problems_.bad(places.location("min_count"), "a negative min_count");
    if (!f.vocabulary_file.empty() && vocabulary.size() > 0) {
      problems_.bad(places.location("size"), "a vocabulary from a file is used unchanged");
    }
    if (!f.vocabulary_file.empty() && vocabulary.min_count() > 0) {
      problems_.bad(places.location("min_count"), "a vocabulary from a file is used unchanged");
    }
    for (int i = 0; i < vocabulary.special_size(); ++i) {
      if (const char* const wrong = wrong_with_entry(vocabulary.special(i))) {
        problems_.bad(places.location("special", static_cast<std::size_t>(i)), fmt::format("the symbol {}", wrong));
      }
    }
    read_subwords(vocabulary, places, f);
  }

  void read_subwords(const Job::Vocabulary& vocabulary, const Places& places, FieldSpec& f) {
    if (!vocabulary.model().empty()) f.subword_model = path_in(folder_, vocabulary.model());
    f.coverage = vocabulary.character_coverage();
    if (!f.in_subwords()) {
      for (const char* field : {"model", "character_coverage"}) {
        if (places.fields.count(field) != 0) {
          problems_.bad(places.location(field), fmt::format("{} is of subwords; expected split: BPE or UNIGRAM", field));
        }
      }
      return;
    }
    if (!f.vocabulary_file.empty()) {
      problems_.bad(places.location("file"), "the entries of a field that is split into subwords are its model's pieces",
                    "model: \"FILE\" names a model of SentencePiece's");
    }
    if (vocabulary.min_count() > 0) problems_.bad(places.location("min_count"), "subwords are not chosen by their count");
    if (!(f.coverage >= 0 && f.coverage <= 1)) {
      problems_.bad(places.location("character_coverage"),
                    fmt::format("a coverage of {}; expected 0 to 1, 0 for SentencePiece's own of 0.9995", f.coverage));
    }
    if (!f.subword_model.empty()) {
      if (vocabulary.size() > 0 || f.coverage > 0) {
        problems_.bad(
            places.location(vocabulary.size() > 0 ? "size" : "character_coverage"),
            "the model that is given has entries of its own; expected either `model`, or size and character_coverage of "
            "one that is trained");
      }
    } else if (vocabulary.size() == 0 && f.shares.empty() && data_.train_size() > 0) {
      problems_.missing(f.at, fmt::format("field '{}' is split into subwords: how many?", f.name),
                        "vocabulary { size: 8000 }, or { model: \"FILE\" } for one that is there");
    }
  }

  // Gives a field that shares a vocabulary the rules of the owner.
  void share_vocabularies() {
    std::vector<std::string> owners;
    for (const FieldSpec& f : spec_.fields) {
      if (f.shares.empty() && !f.numbers) owners.push_back(f.name);
    }
    for (int i = 0; i < data_.field_size(); ++i) {
      const Job::Vocabulary& vocabulary = data_.field(i).vocabulary();
      FieldSpec& f = spec_.fields[static_cast<std::size_t>(i)];
      if (f.shares.empty()) continue;
      const Location at = inside(inside(places_, "field", static_cast<std::size_t>(i)), "vocabulary").location("share");
      Job::Vocabulary alone;
      alone.set_share(vocabulary.share());
      if (vocabulary.SerializeAsString() != alone.SerializeAsString()) {
        problems_.bad(at, fmt::format("field '{}' defines the shared vocabulary; expected no other setting", f.shares));
      }
      const FieldSpec* owner = spec_.field(f.shares);
      if (!owner || !owner->shares.empty() || owner->numbers) {
        problems_.unknown(at, "field with a vocabulary of its own", f.shares, owners);
        f.shares.clear();
        continue;
      }
      if (f.in_subwords() != owner->in_subwords() || (f.in_subwords() && f.subword_kind != owner->subword_kind)) {
        problems_.bad(at, fmt::format("field '{}' is split in another way: the two have no common entries", f.shares),
                      "share a vocabulary between fields of the same split");
      }
      if (f.normalize != owner->normalize) {
        problems_.bad(at, fmt::format("field '{}' is normalized in another way: the two have no common entries", f.shares),
                      "share a vocabulary between fields of the same normalize");
      }
      f.vocabulary = owner->vocabulary;
      f.vocabulary_file = owner->vocabulary_file;
      f.vocabulary_at = owner->vocabulary_at;
      f.subword_model = owner->subword_model;
    }
  }

  void read_feeds() {
    for (int i = 0; i < data_.feed_size(); ++i) {
      try {
        for (ir::Binding& binding : ir::parse_bindings(places_.text("feed", static_cast<std::size_t>(i)))) {
          if (binding.name.empty()) {
            problems_.missing(binding.at, "a feed without a name", "INPUT = FIELDS, or only the field if the names are equal");
          } else {
            spec_.feeds.push_back({binding.name, std::move(binding.value), binding.at});
          }
        }
      } catch (const UserError& error) {
        for (const Diagnostic& d : error.diagnostics()) problems_.add(d.code, d.at, d.text);
      }
    }
    if (data_.feed_size() == 0) {
      problems_.missing(places_.at, "data has no feed: nothing reaches the graph",
                        "feed: \"words, lengths = length(words)\", say");
    }
  }

  void read_batch() {
    const Places& places = inside(places_, "batch");
    const Job::Batch& batch = data_.batch();
    spec_.rows = batch.rows();
    spec_.tokens = batch.tokens();
    spec_.window = batch.window();
    spec_.parts = std::max(1, batch.parts());
    spec_.bucket_by = batch.bucket_by();
    const bool stream = spec_.format == Format::kStream;
    if (!data_.has_batch()) {
      problems_.missing(places_.at, "data has no batch", stream ? "batch { rows: 20 window: 35 }" : "batch { rows: 32 }");
    } else if (batch.rows() < 0 || batch.rows() > kMostRows || (batch.rows() == 0 && batch.tokens() == 0)) {
      problems_.bad(places.location("rows"), fmt::format("batches of {} rows; expected 1 to {}", batch.rows(), kMostRows));
    }
    if (data_.has_batch() && stream && batch.window() == 0) {
      problems_.missing(places.at, "a STREAM needs a window: the steps of one batch", "window: 35");
    }
    if (batch.window() < 0) problems_.bad(places.location("window"), "a negative window");
    if (!stream && batch.window() != 0) problems_.bad(places.location("window"), "only a STREAM has a window");
    if (!stream && batch.parts() != 0) problems_.bad(places.location("parts"), "only a STREAM has parts");
    if (batch.parts() < 0 || (stream && batch.rows() > 0 && batch.rows() % spec_.parts != 0)) {
      problems_.bad(places.location("parts"),
                    fmt::format("{} parts of {} rows; expected a divisor of the number of rows", batch.parts(), batch.rows()));
    }
    if (batch.tokens() < 0) problems_.bad(places.location("tokens"), "a negative number of tokens; 0 is no limit");
    if (stream && batch.tokens() != 0) {
      problems_.bad(places.location("tokens"), "a batch of a STREAM has rows times window tokens");
    }
    if (!stream && batch.tokens() > 0 && batch.bucket_by().empty()) {
      problems_.missing(places.location("tokens"), "tokens of which field?",
                        "bucket_by: \"words\", the field whose length counts");
    }
    if (!spec_.bucket_by.empty()) check_bucket(places);
  }

  void check_bucket(const Places& places) {
    const Location at = places.location("bucket_by");
    if (spec_.format == Format::kStream) return problems_.bad(at, "a STREAM is one text: it has no examples to group");
    const FieldSpec* field = spec_.field(spec_.bucket_by);
    std::vector<std::string> names;
    for (const FieldSpec& f : spec_.fields) names.push_back(f.name);
    if (!field) {
      problems_.unknown(at, "field", spec_.bucket_by, names);
    } else if (field_depth(spec_, *field) == 0) {
      problems_.bad(at, fmt::format("field '{}' is not a sequence: all examples have the same length", field->name));
    }
  }

  const Job::Data& data_;
  const Places& places_;
  const std::string& folder_;
  Problems& problems_;
  DataSpec spec_;
};

}  // namespace

std::string path_in(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

DataSpec make_data_spec(const Job& job, const Places& places, const std::string& folder, std::vector<Diagnostic>& problems) {
  Problems all(problems);
  if (!job.has_data()) {
    all.missing(
        places.at, "the job has no data",
        "data { train: \"train.txt\" format: LINES field { … } feed: \"…\" batch { rows: 32 } }; graphs/README.md, Data");
    DataSpec none;
    none.sound = false;
    return none;
  }
  return DataReader(job, places, folder, all).read();
}

}  // namespace graphrun
