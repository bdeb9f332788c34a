// A model's folder: written by training, read by whatever runs the model.
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

// Everything but parameters: what stays the same throughout a run. Of the job its whole text, every --set in it, and the tables
// of its shortlists. `data`: what is recorded of the data files (data.json). `expanded`: graph.txt.
void write_model(const ModelLayout& layout, const LoadedJob& job, const GraphSources& graphs, const Vocabularies& vocabularies,
                 const std::string& data, const std::string& expanded);

// What a job needs before it can meet data and graph, wherever it comes from.
struct Network {
  LoadedJob job;                     // its plan is bound
  std::string graphs_root;           // of a model's folder; empty: where the job's graphs lie
  std::optional<PathMeanings> kept;  // of a model's folder
  std::set<std::string> kept_files;  // the graphs that its manifest lists
  Vocabularies vocabularies;
  std::unique_ptr<Report> report;  // bound
  // The job's graph with the sizes of the vocabularies filled in. Throws UserError (kInvalidGraph).
  GraphRequest request(bool training) const;
  // That graph, as load_graph gives it; errors in the job's arguments name the job's own text.
  ir::Graph graph(bool training, std::vector<Diagnostic>* warnings = nullptr, GraphSources* sources = nullptr) const;
};

// A job with vocabularies of its own training data, or of the models that it loads. Throws UserError: the job's mistakes
// (kInvalidGraph), the data's (kBadData). `training`: as build_vocabularies' examples.
Network build_network(LoadedJob job, std::optional<ReadExamples>* training = nullptr);
// The same of a job that may have mistakes (read_job) but has_graph; what its reports lack is added to `problems`.
Network build_network(LoadedJob job, std::vector<Diagnostic>& problems, std::optional<ReadExamples>* training = nullptr);
// A model's folder without its parameters; `settings`: --set over its job. Throws UserError (kBadData): E0663 no-model, E0664
// newer-model, E0665 damaged-model.
Network read_network(const ModelLayout& layout, const std::vector<std::string>& settings = {});

struct Parameters {
  std::string file;  // for messages
  NamedTensors tensors;
  std::string reports;  // of the validation that chose them, as JSON; empty: none
};
// The best that a run has left so far. Throws UserError (kBadData): E0666 untrained-model, those of
// runtime/tensor/checkpoint.h.
Parameters read_parameters(const ModelLayout& layout);

// Gives the program's parameters their values. Throws UserError (kBadData, E0662) listing those that are missing or of another
// size.
void set_parameters(const Program& program, const Parameters& parameters, Variables& variables);

}  // namespace graphrun
