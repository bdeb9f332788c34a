// The compiler from end to end, for the programs and for anyone who uses the library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"
#include "runtime/program.h"

namespace graphrun {

// What paths of graphs mean: for each file that names any, "" for a job and the command line, what it says and the path of the
// file that this is. Both by their paths in a model's folder; a path that is not here means itself.
using PathMeanings = std::map<std::string, std::map<std::string, std::string>>;

// What `graph` in a job or on a command line stands for: a file and the values of its args.
struct GraphRequest {
  std::string path;          // a file: as named on the command line, or by a job
  Location at;               // where it is named; unknown: on the command line
  bool from_graphs = false;  // path is looked for as imports are (compiler/frontend/graph_paths.h); else a file as it stands
  std::string job;           // the job that names it: what that names is looked for beside it first; empty: no job does
  std::string graphs_root;   // the folder graphs; empty: the nearest above the job or `path`; then comes the installed one
  // What a model's folder keeps: graphs_root has every graph, and nothing else is looked at.
  std::optional<PathMeanings> kept;
  std::set<std::string> kept_files;  // with `kept`: the graphs that there are, by their paths from graphs_root
  // "name = expression" bindings for args, imports and sizes, each with where it was written (a job's file, or unknown).
  struct Binding {
    std::string name, text;
    Location at;  // of the expression's text
  };
  std::vector<Binding> bindings;
  bool training = true;  // dropout and label smoothing; gone in inference
};

// What training adds to a graph.
struct TrainOptions {
  std::string minimize;  // an output, a FLOAT scalar
  // The gradient is divided by this output, a FLOAT or INT32 scalar, or its sum over the batches of one update; empty: by
  // nothing.
  std::string per;
  std::string optimizer = "sgd";                              // its op is sgd_update
  std::vector<std::pair<std::string, Attribute>> attributes;  // of that op, where they are not its defaults
  std::set<std::string> undecayed;                            // parameters whose attributes l2 and weight_decay are 0
  std::map<std::string, double> rate_factors;  // by parameter: what multiplies the learning rate; absent: nothing
  double clip_global_norm = 0;                 // 0: none
  double moving_average = 0;                   // the decay of a moving average of each parameter; 0: none
  // Which part of a step the program does. Where one update sees several batches, the gradients of each are added to slots,
  // and a second program makes the update of these.
  enum class Part : std::uint8_t { kWhole, kGradients, kUpdate } part = Part::kWhole;
};
// The names of what the training graph is fed and fetched beside the graph's own.
inline constexpr const char* kLearningRate = "train.learning_rate";  // input, FLOAT []
inline constexpr const char* kUpdateCount = "train.update";          // input, FLOAT []: 1 for the first update (Adam's t)
inline constexpr const char* kGoesOn = "train.goes_on";  // input, FLOAT []: 0 begins the sums of gradients, 1 adds to them
inline constexpr const char* kGradientNorm = "train.gradient_norm";  // output, FLOAT []: before clipping
// A slot's name is its parameter's with an ending: ".adam_m", or one of these.
inline constexpr const char* kGradientSlot = ".gradient";
inline constexpr const char* kAverageSlot = ".average";
inline constexpr const char* kPerSlot = "train.per";  // the sum of `per`

struct CompileOptions {
  Precision precision = Precision::kFloat32;
  std::vector<std::string> fetches;          // outputs, or values anywhere in the graph by name; empty: every output
  std::vector<std::string> disabled_passes;  // of names_to_disable (compiler/passes/pass.h)
  bool does(const std::string& name) const;  // whether it is none of them
  // Called after each stage with its name and graph: graph-dump, --time-passes.
  std::function<void(const std::string& stage, const ir::Graph& graph, double seconds)> observe;
  // Receives, in training, what each loop saves for its gradient and what it recomputes; may be null.
  std::vector<TapeDecision>* tape = nullptr;
};

// A file that a graph was made of: the file itself, and every one that it imports.
struct SourceFile {
  std::string path;  // from the folder graphs, or as another file names it; no two are alike
  std::string text;
};
// All that loading a graph again needs.
struct GraphSources {
  std::vector<SourceFile> files;  // each once
  PathMeanings meanings;
};

// load, expand, check. Throws UserError (kInvalidGraph) with every mistake found; `warnings` gets the rest, `sources`
// what was read.
ir::Graph load_graph(const GraphRequest& request, std::vector<Diagnostic>* warnings = nullptr, GraphSources* sources = nullptr);

// The two stages of load_graph: files to one typed graph (throws as it does), then verified and without what nothing needs.
ir::Graph expand_graph(const GraphRequest& request, std::vector<Diagnostic>* warnings = nullptr,
                       GraphSources* sources = nullptr);
ir::Graph check_graph(ir::Graph expanded);

// differentiate (with `train`), passes, schedule, plan memory.
Program compile(const ir::Graph& checked, const CompileOptions& options = {}, const TrainOptions* train = nullptr);

}  // namespace graphrun
