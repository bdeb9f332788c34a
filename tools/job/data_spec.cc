#include "tools/job/data_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "tools/data/utf8.h"
#include "tools/job/problems.h"

namespace graphrun {
namespace {

constexpr int kMostRows = 1 << 20;

bool identifier(const std::string& name) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) && std::all_of(name.begin(), name.end(), part);
}

class DataReader {
 public:
  DataReader(const Job& job, const Places& places, const std::string& folder, Problems& problems)
      : data_(job.data()), places_(inside(places, "data")), folder_(folder), problems_(problems) {}

  DataSpec read() {
    spec_.train = files(data_.train());
    spec_.valid = files(data_.valid());
    spec_.test = files(data_.test());
    read_format();
    for (int i = 0; i < data_.field_size(); ++i)
      read_field(data_.field(i), inside(places_, "field", static_cast<std::size_t>(i)));
    if (data_.field_size() == 0)
      problems_.missing(places_.at, "data has no field", "field { name: \"words\" split: SPACE }, say");
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

  void read_format() {
    switch (data_.format()) {
      case Job::Data::LINES: spec_.format = Format::kLines; break;
      case Job::Data::CONLL: spec_.format = Format::kConll; break;
      case Job::Data::SEGMENTED: spec_.format = Format::kSegmented; break;
      case Job::Data::STREAM: spec_.format = Format::kStream; break;
      case Job::Data::TSV: spec_.format = Format::kTsv; break;
      default:
        problems_.unavailable(places_.location("format"),
                              fmt::format("format {} is not available yet", Job::Data::Format_Name(data_.format())));
    }
    if (data_.end_of_line().empty()) return;
    const auto points = code_points(data_.end_of_line());
    if (spec_.format != Format::kStream)
      problems_.bad(places_.location("end_of_line"), "only a STREAM has an end_of_line symbol");
    else if (std::any_of(points.begin(), points.end(), is_space))
      problems_.bad(places_.location("end_of_line"), "a symbol has no white space in it");
    spec_.end_of_line = data_.end_of_line();
  }

  void read_field(const Job::Field& field, const Places& places) {
    FieldSpec f;
    f.name = field.name();
    f.at = places.location("name");
    f.column = field.column();
    f.longest = field.longest();
    f.split = field.split() == Job::Field::SPACE  ? Split::kSpace
              : field.split() == Job::Field::NONE ? Split::kNone
                                                  : Split::kCharacter;
    f.derive = field.derive() == Job::Field::BMES ? Derive::kBmes : Derive::kGiven;
    if (!identifier(f.name))
      problems_.bad(f.at, fmt::format("a field named '{}'; expected a name of letters, digits and _", f.name));
    if (spec_.field(f.name)) problems_.twice(f.at, fmt::format("a second field '{}'", f.name));
    if (field.split() == Job::Field::BPE) problems_.unavailable(places.location("split"), "split BPE is not available yet");
    if (f.column < 0) problems_.bad(places.location("column"), fmt::format("column {}; columns count from 0", f.column));
    if (f.longest < 0)
      problems_.bad(places.location("longest"), fmt::format("longest {}; expected 0 (no limit) or more", f.longest));
    check_format(f, places);
    read_vocabulary(field.vocabulary(), inside(places, "vocabulary"), f);
    spec_.fields.push_back(std::move(f));
  }

  // What goes with the format and what does not.
  void check_format(const FieldSpec& f, const Places& places) {
    const bool columns = spec_.format == Format::kConll || spec_.format == Format::kTsv;
    if (f.column > 0 && !columns) problems_.bad(places.location("column"), "only CONLL and TSV have columns");
    if (f.derive == Derive::kBmes) {
      if (spec_.format != Format::kSegmented)
        problems_.bad(places.location("derive"), "BMES is derived from SEGMENTED data alone");
      if (f.split != Split::kNone) problems_.bad(places.location("split"), "a derived field is not split");
      return;
    }
    const bool split_needed = spec_.format == Format::kSegmented || spec_.format == Format::kStream;
    if (split_needed && f.split == Split::kNone)
      problems_.missing(
          f.at, fmt::format("field '{}' needs a split: {}", f.name,
                            spec_.format == Format::kStream ? "SPACE or CHARACTER" : "CHARACTER, SPACE, or derive: BMES"));
    if (spec_.format == Format::kStream && f.longest > 0)
      problems_.bad(places.location("longest"), "a STREAM is one text: it has no examples that could be too long");
  }

  void read_vocabulary(const Job::Vocabulary& vocabulary, const Places& places, FieldSpec& f) {
    f.vocabulary.size = vocabulary.size();
    f.vocabulary.min_count = vocabulary.min_count();
    f.vocabulary.closed = vocabulary.closed();
    f.vocabulary.special.assign(vocabulary.special().begin(), vocabulary.special().end());
    if (!vocabulary.file().empty()) f.vocabulary_file = path_in(folder_, vocabulary.file());
    if (vocabulary.size() < 0) problems_.bad(places.location("size"), "a negative size; 0 is no limit");
    if (vocabulary.min_count() < 0) problems_.bad(places.location("min_count"), "a negative min_count");
    if (!f.vocabulary_file.empty() && vocabulary.size() > 0)
      problems_.bad(places.location("size"), "a vocabulary of a file is as it stands there");
    if (!f.vocabulary_file.empty() && vocabulary.min_count() > 0)
      problems_.bad(places.location("min_count"), "a vocabulary of a file is as it stands there");
    for (int i = 0; i < vocabulary.special_size(); ++i)
      if (vocabulary.special(i).empty())
        problems_.bad(places.location("special", static_cast<std::size_t>(i)), "an empty symbol");
  }

  void read_feeds() {
    for (int i = 0; i < data_.feed_size(); ++i) {
      try {
        for (ir::Binding& binding : ir::parse_bindings(places_.text("feed", static_cast<std::size_t>(i)))) {
          if (binding.name.empty())
            problems_.missing(binding.at, "a feed without a name",
                              "INPUT = FIELDS, or the field alone where the names are equal");
          else
            spec_.feeds.push_back({binding.name, std::move(binding.value), binding.at});
        }
      } catch (const UserError& error) {
        for (const Diagnostic& d : error.diagnostics()) problems_.add(d.code, d.at, d.text);
      }
    }
    if (data_.feed_size() == 0)
      problems_.missing(places_.at, "data has no feed: nothing reaches the graph",
                        "feed: \"words, lengths = length(words)\", say");
  }

  void read_batch() {
    const Places& places = inside(places_, "batch");
    const Job::Batch& batch = data_.batch();
    spec_.rows = batch.rows();
    spec_.window = batch.window();
    spec_.bucket_by = batch.bucket_by();
    const bool stream = spec_.format == Format::kStream;
    if (!data_.has_batch())
      problems_.missing(places_.at, "data has no batch", stream ? "batch { rows: 20 window: 35 }" : "batch { rows: 32 }");
    else if (batch.rows() <= 0 || batch.rows() > kMostRows)
      problems_.bad(places.location("rows"), fmt::format("batches of {} rows; expected 1 to {}", batch.rows(), kMostRows));
    if (data_.has_batch() && stream && batch.window() == 0)
      problems_.missing(places.at, "a STREAM needs a window: the steps of one batch", "window: 35");
    if (batch.window() < 0) problems_.bad(places.location("window"), "a negative window");
    if (!stream && batch.window() != 0) problems_.bad(places.location("window"), "only a STREAM has a window");
    if (!spec_.bucket_by.empty()) check_bucket(places);
  }

  void check_bucket(const Places& places) {
    const Location at = places.location("bucket_by");
    if (spec_.format == Format::kStream) return problems_.bad(at, "a STREAM is one text: it has no examples to group");
    const FieldSpec* field = spec_.field(spec_.bucket_by);
    std::vector<std::string> names;
    for (const FieldSpec& f : spec_.fields) names.push_back(f.name);
    if (!field)
      problems_.unknown(at, "field", spec_.bucket_by, names);
    else if (field_depth(spec_, *field) == 0)
      problems_.bad(at, fmt::format("field '{}' is no sequence: all examples are of one length", field->name));
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
    all.missing(places.at, "the job has no data");
    return {};
  }
  return DataReader(job, places, folder, all).read();
}

}  // namespace graphrun
