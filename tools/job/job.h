// A job: how a network meets data. A `.pbtxt` file (graphs/job.proto) with what --set says, checked, and as plain structs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "compiler/frontend/source.h"
#include "graphs/job.pb.h"
#include "runtime/base/rounding.h"
#include "tools/data/feed_plan.h"
#include "tools/data/spec.h"
#include "tools/generate/search_options.h"
#include "tools/infer/writers.h"
#include "tools/report/report.h"

namespace graphrun {

struct AlignSpec {
  std::string from, field, replace;
  bool of_words = false;  // else of entries
};
struct SampleSpec {
  double temperature = 1;
  std::int64_t top_k = 0;
  std::uint64_t seed = 0;
};

// The words that a line can need, by a lexical table.
struct ShortlistSpec {
  std::string table;         // a path that opens from where the program runs
  std::int64_t best = 100;   // translations of each word
  std::int64_t first = 100;  // words of the vocabulary that every line may have
  std::string field;         // of the words that are translated; empty: see tools/model/row_shortlists.h
};

// Of a hypothesis. A network that never chooses the end ends there, and not when its user has had enough.
inline constexpr std::int64_t kMostWords = 100'000;

// How words are made, where a mode makes any.
struct GenerateSpec {
  Location at;
  std::map<std::string, Location> places;                   // of what it says: "scan", "align.from"
  const Location& place(const std::string& setting) const;  // `at` where it is not said
  std::string scan, feed, score, begin, end;
  std::int64_t beam = 1, n_best = 1, min_length = 0;
  Dim max_length;  // over sizes of the input; a line's own is cut at kMostWords
  LengthNorm norm;
  std::optional<AlignSpec> align;
  std::optional<SampleSpec> sample;
  std::optional<ShortlistSpec> shortlist;
};

// One way to run the trained model on text.
struct InferSpec {
  std::string name;
  Location at;
  WriteAs write = WriteAs::kText;
  Format read = Format::kLines;  // plain lines, or records as the data has them
  ir::SourceText from;           // an expression over outputs: what is written
  std::string field;             // whose vocabulary turns numbers into text; empty for kNumbers, kMatrix
  std::int64_t longest = 0;      // units of a field of a line; 0: no limit
  bool refuse_longer = false;    // else they are cut
  WeightForm weights = WeightForm::kFloat32;
  bool sound = true;  // without a mistake
  std::optional<GenerateSpec> generate;
};

// A trained model whose parameters the job's graph takes, in the place of training.
struct LoadSpec {
  std::string path;  // of what it is in the graph, "members.0"; empty: all of it
  std::string folder;
  Location at;
};

struct LoadedJob {
  std::string path;    // as it was named
  std::string folder;  // in which relative paths of files start
  Job message;         // the file's and --set's
  Places places;
  ProductPrecision products = ProductPrecision::kFloat32;
  DataSpec data;
  std::unique_ptr<FeedPlan> plan;   // to bind to vocabularies
  std::vector<ir::Binding> report;  // Report(report, …) makes one; it is without mistakes
  std::vector<InferSpec> infer;
  std::vector<LoadSpec> load;  // of its infer blocks, which share them
  std::vector<Diagnostic> warnings;
  bool as_set = true;     // with all that --set says
  bool has_graph = true;  // its fields and args are without mistakes: a graph can be made of it

  const InferSpec* infer_named(std::string_view name) const;  // null: none; "" is the first
  // The arguments of its graph; vocabulary(field) is its size.
  std::vector<GraphRequest::Setting> arguments(const Vocabularies& vocabularies) const;
  // What the compiler says of an argument that the graph does not have (E0229), at the argument's name, with the fields of the
  // job that may be meant; anything else as it is.
  Diagnostic at_argument(Diagnostic diagnostic) const;
};

// Throws UserError (kInvalidGraph): what parse_source throws; E04xx for what does not fit, all mistakes together.
LoadedJob load_job(const std::string& path, const std::vector<std::string>& sets = {});
// The same from text; `path` names it and its folder.
LoadedJob parse_job(std::string_view text, const std::string& path, const std::vector<std::string>& sets = {});

// The same as far as it goes: mistakes beyond syntax are added to `problems`.
LoadedJob read_job(std::string_view text, const std::string& path, const std::vector<std::string>& sets,
                   std::vector<Diagnostic>& problems);

// Throws UserError (kInvalidGraph, E0410) naming everything that training needs and the job does not say.
void require_training(const LoadedJob& job);

// The job as text with every --set in it: a file that means the same. `absolute`: files by paths from the root, so that the
// text can lie elsewhere. `tables`: by infer block, the path that stands for that of its shortlist's table.
std::string dump_job(const LoadedJob& job, bool absolute = false, const std::map<std::string, std::string>& tables = {});

}  // namespace graphrun
