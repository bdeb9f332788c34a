// What a checkpoint of a training run holds beside tensors: where the run stands. With it a stopped run continues as
// if it had not been.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/data/batch.h"
#include "tools/train/schedule.h"
#include "tools/train/stepper.h"

namespace graphrun {

struct TrainState {
  std::uint64_t seed = 0;
  std::int64_t step = 0;                   // updates done
  BatchPosition next;                      // the batch that comes next
  bool epoch_begun = false;                // the learning rate has been set for next.epoch
  std::optional<BatchPosition> validated;  // the batch before which the last validation within an epoch was
  ScheduleState schedule;
  Patience stop;           // of the rule that ends a training early
  bool ended = false;      // a rule has ended the training
  PendingBatches pending;  // of the update under way
  double loss_sum = 0;     // of this epoch's steps so far
  std::int64_t loss_steps = 0;
  double recent_sum = 0;  // of the steps since the last line of metrics
  std::int64_t recent_steps = 0;
  std::optional<double> best;  // the kept report's best value so far
  std::int64_t best_epoch = 0;
  std::int64_t metrics_bytes = 0;
  std::optional<double> seconds;  // of the run so far, in all its starts; only where it may end by them: no two runs agree
  bool finished = false;
  std::string model;  // the SHA-256 of the manifest of the folder it belongs to: its job, graphs, vocabularies, data
};

// JSON that reads back to the same bits.
std::string state_text(const TrainState& state);
// Throws UserError (kBadData, E0661) naming `where` for what is not one.
TrainState parse_state(const std::string& text, const std::string& where);

}  // namespace graphrun
