// Decides when a run ends, by epochs, updates or hours, whichever comes first; keeps the clock for hours.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/data/batch.h"
#include "tools/run/clock.h"
#include "tools/train/recipe.h"

namespace graphrun {

// The position of a run.
struct RunPlace {
  BatchPosition next;        // the next batch
  std::int64_t updates = 0;  // updates done
};

class RunEnd {
 public:
  explicit RunEnd(const EndRule& rule) : rule_(rule) {}

  // Sets the duration of the run's earlier starts.
  void restore(double seconds);
  // Starts the clock.
  void start() { begun_ = seconds_now(); }
  double seconds() const { return before_ + (begun_ ? seconds_now() - *begun_ : 0); }

  // Whether the last epoch, update or hour is over. Hours only count when look_at_clock() has read the clock, so the answer
  // does not change between two calls of it.
  bool reached(const RunPlace& place) const { return *reached_by(place) != '\0'; }
  // The setting of the job that ended the run: "train.epochs"; "" if it is not over.
  const char* reached_by(const RunPlace& place) const;
  // Reads the clock. Returns true once, when the hours have just ended.
  bool look_at_clock();
  // Marks the hours as over, according to the clock of process 0.
  void end_hours() { time_is_up_ = true; }
  bool is_last_epoch(std::int64_t epoch) const { return epoch == rule_.epochs; }

  // The time until the end, given the number of batches per epoch and the seconds per batch.
  double seconds_left(const RunPlace& place, std::int64_t batches, std::int64_t accumulate, double seconds_of_batch) const;

 private:
  const EndRule rule_;
  double before_ = 0;
  std::optional<double> begun_;
  bool time_is_up_ = false;
};

}  // namespace graphrun
