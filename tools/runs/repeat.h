// Repeats a part of a run from what its folder keeps: the job, the graphs, the vocabularies and the checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "tools/data/batch.h"
#include "tools/model/model_folder.h"
#include "tools/train/prepared.h"
#include "tools/train/training_data.h"

namespace graphrun {

struct RepeatRequest {
  std::string folder;           // of the run
  std::int64_t step = 0;        // ends after this update, counted from 1
  bool from_checkpoint = true;  // begins at the newest sound checkpoint before that update; else at the beginning
  const Device* device = &cpu_device();
};

// The end of a repetition.
struct Repeated {
  std::int64_t from = 0;  // updates done where it began
  StepResult result;      // of the last update
  double rate = 0;        // its learning rate
  BatchPosition at;       // the batch that completed it
  std::string metrics;    // the lines of metrics.jsonl, from the beginning of the run
  const Prepared* prepared = nullptr;
  const TrainingData* data = nullptr;
};

// Called before the last update, with the state of the run before it, and after it.
struct RepeatVisits {
  std::function<void(const Prepared&, const TrainingData&, const Batch&)> before;
  std::function<void(const Repeated&)> after;
};

// Repeats updates with the same bits, and validations where the learning rate depends on them. Writes to a temporary folder
// only, which is removed. Returns kDone, or 128 + N after signal N. Throws UserError: (kUsage) E0521 if the folder has no run,
// E0524 if the data has changed, E0527 if the run has fewer updates, E0528 if several processes added gradients in an order
// that one process does not have; what training throws.
ExitCode repeat_run(const RepeatRequest& request, const RepeatVisits& visits);

// The number of updates that a run's metrics record.
std::int64_t recorded_updates(const std::string& metrics);

}  // namespace graphrun
