// A network prepared for a training run: compiled for its steps and for its reports.
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

// The network of a new run, with everything that --dump-job prints. `training`: like build_network's. Throws UserError:
// (kBadData) for all files of the job that cannot be read; what build_network throws.
Network new_network(LoadedJob job, std::optional<ReadExamples>& training);

// The graphs of a network.
struct NetworkGraphs {
  GraphSources sources;
  ir::Graph training, inference;  // the network in training and in inference
  double seconds = 0;             // time to read and expand them
};
// Reads them. Throws UserError (kInvalidGraph) for mistakes in them, or if they do not fit the job.
NetworkGraphs load_graphs(const Network& network, std::vector<Diagnostic>& warnings);

struct Prepared {
  // `read`: the graphs of the network. Throws UserError (kInvalidGraph) for mistakes in the objective or the reports.
  Prepared(Network made, NetworkGraphs read, const Device& where, std::vector<Diagnostic>& warnings);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  const Network network;
  const Recipe recipe;
  const Device& device;
  const NetworkGraphs graphs;
  Stepper stepper;
  Evaluator evaluator;
  Target target() const { return {device, WeightForm::kFloat32, network.job.products}; }
  const double seconds;  // time to compile, beginning with the graphs' files

 private:
  Prepared(Network made, NetworkGraphs read, const Device& where, std::vector<Diagnostic>& warnings, double begun);
};

// The error together with warnings that were not shown yet.
UserError with_warnings(const UserError& error, const std::vector<Diagnostic>& warnings);

// Writes the network, the data and the device to the log.
void describe(ProgressDisplay& display, const Prepared& prepared, const TrainingData& data);

}  // namespace graphrun
