// A training run, from a job to a model's folder. Knows no task: what it does stands in the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"
#include "runtime/device/device.h"

namespace graphrun {

struct TrainRequest {
  std::string job;                    // a file
  std::string text;                   // what it says: a pipe is read once
  std::vector<std::string> settings;  // --set, in order: "NAME=VALUE"
  std::string out;                    // the folder
  std::vector<std::string> command;   // the words that started the program, for the record
  bool resume = false;
  bool quiet = false;
  bool print_results = true;  // the kept model's reports, on stdout
  bool tensorboard = false;   // write event files too
  std::string profile;        // a file for Chrome's trace of the steps; empty: none
  const Device* device = &cpu_device();
  std::vector<Diagnostic> warnings;  // to be shown with those of the job
  Communicator* together = nullptr;  // the processes that share the batches of each update; null: this one is alone
};

// Of several processes, each calls it; process 0 alone writes to the folder, to stdout and to stderr.
// Returns kDone, or 128 + N where signal N ended the run with a checkpoint. Throws UserError: whatever is wrong with job,
// graph, data or folder, before any training; (kUsage) E0523 where the run to resume has another job or other graphs, E0524
// where it has other data, E0533 where an update has too few batches for the processes, E0534 where they differ; (kDiverged,
// E0670) a loss or gradient that is not finite, the last checkpoint kept. The reports of the model that is kept go to stdout,
// everything else to stderr.
ExitCode train(const TrainRequest& request);

}  // namespace graphrun
