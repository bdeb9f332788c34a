// A training run, from a job to a model's folder. It knows no task; the job says what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"
#include "runtime/device/device.h"
#include "tools/run/run_folder.h"

namespace graphrun {

struct TrainRequest {
  std::string job;                    // a file
  std::string text;                   // its contents, since a pipe can be read only once
  std::vector<std::string> settings;  // --set, in order: "NAME=VALUE"
  std::string out;                    // the folder
  std::vector<std::string> command;   // the command line, for the record
  RunFolder::Begin begin = RunFolder::Begin::kNew;
  bool quiet = false;
  bool print_results = true;  // print the kept model's reports to stdout
  bool tensorboard = false;   // also write event files
  std::string profile;        // a file for a Chrome trace of the steps; may be empty
  const Device* device = &cpu_device();
  std::vector<Diagnostic> warnings;  // to be shown with those of the job
  Communicator* together = nullptr;  // the processes that share the batches of each update; null if there is only this one
};

// With several processes, all of them call it. Only process 0 writes to the folder, stdout and stderr.
// Returns kDone, or 128 + N if signal N ended the run with a checkpoint. Throws UserError: errors in job, graph, data or
// folder, before any training; (kUsage) E0523 if the run to resume has another job or other graphs, E0524 if it has other data,
// E0533 if an update has too few batches for the processes, E0534 if the processes differ; (kDiverged, E0670) if a loss or
// gradient is not finite; the last checkpoint stays. The reports of the kept model go to stdout, everything else to stderr.
ExitCode train(const TrainRequest& request);

}  // namespace graphrun
