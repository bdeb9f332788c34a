// A network made ready for a training run: compiled for its steps and for its reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/device/device.h"
#include "tools/model/evaluator.h"
#include "tools/model/model_folder.h"
#include "tools/run/clock.h"
#include "tools/run/progress.h"
#include "tools/train/recipe.h"
#include "tools/train/stepper.h"
#include "tools/train/training_data.h"

namespace graphrun {

// The network of a new run, with all that --dump-job prints. Throws UserError: (kBadData) the files of the job that can't be
// read, all together; what build_network throws. `training`: as build_network's.
Network new_network(LoadedJob job, std::optional<ReadExamples>& training);

// The graphs that a network names.
struct NetworkGraphs {
  GraphSources sources;
  ir::Graph training, inference;  // the network in training, and in use
  double seconds = 0;             // that reading and expanding took
};
// Reads them. Throws UserError (kInvalidGraph) for what is wrong with them or does not fit the job.
NetworkGraphs load_graphs(const Network& network, std::vector<Diagnostic>& warnings);

struct Prepared {
  // `read`: the graphs of the network. Throws UserError (kInvalidGraph) for what is wrong with objective or reports.
  Prepared(Network made, NetworkGraphs read, const Device& where, std::vector<Diagnostic>& warnings);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  const Network network;
  const Recipe recipe;
  const Device& device;
  const NetworkGraphs graphs;
  Stepper stepper;
  Evaluator evaluator;
  const double seconds;  // that compiling took, from the graphs' files on

 private:
  Prepared(Network made, NetworkGraphs read, const Device& where, std::vector<Diagnostic>& warnings, double begun);
};

// The error, and warnings that nobody has seen yet.
UserError with_warnings(const UserError& error, const std::vector<Diagnostic>& warnings);

// What is trained, on what and where, in the log.
void describe(ProgressDisplay& display, const Prepared& prepared, const TrainingData& data);

}  // namespace graphrun
