// A model's folder, which training writes and everything that runs the model reads.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/tensor/safetensors.h"
#include "tools/data/dataset_reader.h"
#include "tools/job/job.h"
#include "tools/model/layout.h"
#include "tools/report/report.h"

namespace graphrun {

inline constexpr int kModelVersion = 1;

// Writes everything but parameters, that is, what does not change during a run: the job's text with every --set applied, and
// the tables of its shortlists. `data`: the record of the data files (data.json). `expanded`: graph.txt.
void write_model(const ModelLayout& layout, const LoadedJob& job, const GraphSources& graphs, const Vocabularies& vocabularies,
                 const std::string& data, const std::string& expanded);

// A job with its vocabularies and bound feeds and reports, from a file or a model's folder.
struct Network {
  LoadedJob job;                     // with a bound plan
  std::string graphs_root;           // of a model's folder; empty: the job's graphs
  std::optional<PathMeanings> kept;  // of a model's folder
  std::set<std::string> kept_files;  // graphs listed in its manifest
  Vocabularies vocabularies;
  std::unique_ptr<Report> report;  // bound
  std::vector<std::string> keep;   // values that the graph for inference keeps, besides those that reports read
  // A request for the job's graph, with the sizes of the vocabularies. Throws UserError (kInvalidGraph).
  GraphRequest request(bool training) const;
  // That graph, from load_graph; errors in the job's arguments refer to the job's text.
  ir::Graph graph(bool training, std::vector<Diagnostic>* warnings = nullptr, GraphSources* sources = nullptr) const;
};

// A job with vocabularies from its own training data, or from the models that it loads. `training`: like build_vocabularies'
// examples. Throws UserError: (kInvalidGraph) the job's mistakes, (kBadData) the data's.
Network build_network(LoadedJob job, std::optional<ReadExamples>* training = nullptr);
// The same for a job that may have mistakes (read_job) but has_graph; mistakes in reports are added to `problems`.
Network build_network(LoadedJob job, std::vector<Diagnostic>& problems, std::optional<ReadExamples>* training = nullptr);
// The same with given vocabularies: reads no data.
Network build_network(LoadedJob job, Vocabularies vocabularies, std::vector<Diagnostic>& problems);
// Reads a model's folder, without its parameters; `settings`: --set for its job. Throws UserError (kBadData): E0663 no-model,
// E0664 newer-model, E0665 damaged-model.
Network read_network(const ModelLayout& layout, const std::vector<std::string>& settings = {});

struct Parameters {
  std::string file;  // for messages
  NamedTensors tensors;
  std::string reports;  // reports of the validation that chose them, as JSON; may be empty
};
// The best parameters that a run has saved so far. Throws UserError (kBadData): E0666 untrained-model; those of
// runtime/tensor/checkpoint.h.
Parameters read_parameters(const ModelLayout& layout);

// Sets the program's parameters. Throws UserError (kBadData, E0662) that lists those that are missing or have another size.
void set_parameters(const Program& program, const Parameters& parameters, Variables& variables);

}  // namespace graphrun
