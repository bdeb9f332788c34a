// The state of a training run in a checkpoint, in addition to tensors. With it, a stopped run continues as if it had not been
// stopped.
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
  std::int64_t step = 0;     // number of updates done
  BatchPosition next;        // the next batch
  bool epoch_begun = false;  // the learning rate is set for next.epoch
  // The batch before which the last validation within an epoch took place, or the run ended without validation data.
  std::optional<BatchPosition> validated;
  ScheduleState schedule;
  Patience stop;           // state of early stopping
  bool ended = false;      // a rule has ended training
  PendingBatches pending;  // batches of the update in progress
  double loss_sum = 0;     // over this epoch's steps so far
  std::int64_t loss_steps = 0;
  double recent_sum = 0;  // over the steps since the last line of metrics
  std::int64_t recent_steps = 0;
  std::optional<double> best;  // best value of the kept report so far
  std::int64_t best_epoch = 0;
  std::int64_t metrics_bytes = 0;
  std::optional<double> seconds;  // duration of the run so far, over all its starts; only if it may end by hours, since it
                                  // differs from run to run
  bool finished = false;
  bool averaged = false;  // the model of the finished run is the mean of several
  std::string model;      // SHA-256 of the manifest of its folder, and so of its job, graphs, vocabularies and data
};

// As JSON that reads back to the same bits.
std::string state_text(const TrainState& state);
// Throws UserError (kBadData, E0661) that names `where` if it is not a state.
TrainState parse_state(const std::string& text, const std::string& where);

}  // namespace graphrun
