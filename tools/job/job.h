// A job: what a network is trained on and used for. A `.pbtxt` file (graphs/job.proto), changed by --set, checked, and
// converted to plain structs.
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
  bool of_words = false;  // otherwise of entries
};
struct SampleSpec {
  double temperature = 1;
  std::int64_t top_k = 0;
  std::uint64_t seed = 0;
};

// The words that a line can need, from a lexical table.
struct ShortlistSpec {
  std::string table;         // a path that opens from the current folder
  std::int64_t best = 100;   // translations of each word
  std::int64_t first = 100;  // words of the vocabulary that every line may have
  std::string field;         // of the words that are translated; empty: see tools/model/row_shortlists.h
};

// The most words of a hypothesis, for networks that never choose the end symbol.
inline constexpr std::int64_t kMostWords = 100'000;

// How a mode generates words, if it does.
struct GenerateSpec {
  Location at;
  std::map<std::string, Location> places;                   // of its settings: "scan", "align.from"
  const Location& place(const std::string& setting) const;  // `at` if it is absent
  std::string scan, feed, score, begin, end;
  std::int64_t beam = 1, n_best = 1, min_length = 0;
  Dim max_length;  // an expression over sizes of the input; each line's value is limited to kMostWords
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
  Format read = Format::kLines;  // plain lines, or records in the data's format
  ir::SourceText from;           // the value to write: an expression over outputs
  std::string field;             // the field whose vocabulary turns numbers into text; empty for kNumbers, kMatrix
  std::int64_t longest = 0;      // the most units of a field of a line; 0: no limit
  bool refuse_longer = false;    // otherwise they are cut
  WeightForm weights = WeightForm::kFloat32;
  bool sound = true;  // has no mistakes
  std::optional<GenerateSpec> generate;
};

// A trained model whose parameters the job's graph uses, instead of training.
struct LoadSpec {
  std::string path;  // of the part of the graph that it provides, "members.0"; empty: the whole graph
  std::string folder;
  Location at;
};

struct LoadedJob {
  std::string path;    // as the user named it
  std::string folder;  // in which relative paths start
  Job message;         // the file with all --set applied
  Places places;
  ProductPrecision products = ProductPrecision::kFloat32;
  DataSpec data;
  std::unique_ptr<FeedPlan> plan;   // to be bound to vocabularies
  std::vector<ir::Binding> report;  // Report(report, …) makes the reports; without mistakes
  std::vector<InferSpec> infer;
  std::vector<LoadSpec> load;  // shared by its infer blocks
  std::vector<Diagnostic> warnings;
  bool as_set = true;     // all of --set was applied
  bool has_graph = true;  // its fields and args have no mistakes, so its graph can be loaded

  const InferSpec* infer_named(std::string_view name) const;  // null: none; "" is the first
  // The arguments of its graph; vocabulary(field) is replaced by the vocabulary's size.
  std::vector<GraphRequest::Setting> arguments(const Vocabularies& vocabularies) const;
  // Moves the compiler's error about an argument that the graph does not have (E0229) to the argument's name and adds the
  // fields of the job that may be meant. Returns any other diagnostic unchanged.
  Diagnostic at_argument(Diagnostic diagnostic) const;
};

// Throws UserError (kInvalidGraph): what parse_source throws; E04xx with all other mistakes.
LoadedJob load_job(const std::string& path, const std::vector<std::string>& sets = {});
// The same from text; `path` gives its name and folder.
LoadedJob parse_job(std::string_view text, const std::string& path, const std::vector<std::string>& sets = {});

// The same as far as possible: mistakes other than syntax errors are added to `problems`.
LoadedJob read_job(std::string_view text, const std::string& path, const std::vector<std::string>& sets,
                   std::vector<Diagnostic>& problems);

// Throws UserError (kInvalidGraph, E0410) that lists everything that training needs and the job lacks.
void require_training(const LoadedJob& job);

// The job as text, with every --set applied. `absolute`: with absolute paths, so that the text can be stored elsewhere.
// `tables`: by infer block, the path that replaces that of its shortlist's table.
std::string dump_job(const LoadedJob& job, bool absolute = false, const std::map<std::string, std::string>& tables = {});

}  // namespace graphrun
