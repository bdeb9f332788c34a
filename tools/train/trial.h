// graphrun train --try N: what a run would take, from a few real updates and one validation of it.
#pragma once

#include <cstdint>
#include <string>

#include "tools/run/speed.h"
#include "tools/train/run_length.h"
#include "tools/train/train.h"

namespace graphrun {

// What was measured and what is known before a run.
struct TrialFigures {
  Work work;                              // of the updates but the first
  double first = 0, least = 0, most = 0;  // seconds of an update: of the first, and among the others
  std::string validated;                  // the set: "valid", or "test" where there is no other; empty: none
  Work validation;                        // of one
  RunShape shape;
  EndRule end;
  ValidateRule rule;
  bool may_end_early = false;              // by a rule of the schedule or `stop`
  double more_evaluations = 0;             // at the end, as parts of a validation: of the mean, of the test set
  std::int64_t largest_rows = 0;           // of the largest batch,
  std::int64_t largest_steps = 0;          // and its steps
  std::int64_t values = 0, variables = 0;  // bytes: of the values of a step with that batch, of all that outlives a step
  std::int64_t resident = 0;               // at most, so far
};
// A table for people.
std::string trial_text(const TrialFigures& figures);

// Makes `updates` updates of the run and one validation, and tells on stdout what the whole run takes. Writes no file; of the
// folder, where one is given, it only asks whether a run stands in it. Returns kDone, or 128 + N where signal N came. Throws
// UserError: train()'s; (kDiverged, E0670) where a loss is not finite.
ExitCode try_training(const TrainRequest& request, std::int64_t updates);

}  // namespace graphrun
