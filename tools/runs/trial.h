// graphrun train --try N: estimates the time and memory of a run from a few real updates and one validation.
#pragma once

#include <cstdint>
#include <string>

#include "tools/run/speed.h"
#include "tools/train/run_length.h"
#include "tools/train/train.h"

namespace graphrun {

// What was measured, and what is known before a run.
struct TrialFigures {
  Work work;                              // of all updates except the first
  double first = 0, least = 0, most = 0;  // seconds of the first update; least and most of the others
  std::string validated;                  // the set: "valid", or "test" where there is no other; empty: none
  Work validation;                        // of one validation
  RunShape shape;
  EndRule end;
  ValidateRule rule;
  bool may_end_early = false;      // because of the schedule or `stop`
  double more_evaluations = 0;     // evaluations at the end (of the mean, of the test set), as multiples of a validation
  std::int64_t largest_rows = 0;   // rows of the largest batch,
  std::int64_t largest_steps = 0;  // and its steps
  std::int64_t values = 0,
               variables = 0;  // bytes of the values of a step with that batch; of all variables that outlive a step
  std::int64_t resident = 0;   // peak resident memory so far
};
// A table for people.
std::string trial_text(const TrialFigures& figures);

// Runs `updates` updates and one validation, and prints an estimate of the whole run to stdout. Writes no file; if a folder is
// given, only checks whether it contains a run. Returns kDone, or 128 + N after signal N. Throws UserError: train()'s;
// (kDiverged, E0670) if a loss is not finite.
ExitCode try_training(const TrainRequest& request, std::int64_t updates);

}  // namespace graphrun
