// The end of a run, by whichever comes first of the epochs, updates and hours that its job gives; and the clock of its hours.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/data/batch.h"
#include "tools/run/clock.h"
#include "tools/train/recipe.h"

namespace graphrun {

// How far a run is.
struct RunPlace {
  BatchPosition next;        // the batch that comes next
  std::int64_t updates = 0;  // done
};

class RunEnd {
 public:
  explicit RunEnd(const EndRule& rule) : rule_(rule) {}

  // What the run's earlier starts took.
  void restore(double seconds);
  // From here on time counts.
  void start() { begun_ = seconds_now(); }
  double seconds() const { return before_ + (begun_ ? seconds_now() - *begun_ : 0); }

  // Whether the last epoch, update or hour is through. The clock counts only once look_at_clock() has seen it, so that the
  // answer is one and the same between two looks.
  bool reached(const RunPlace& place) const { return *reached_by(place) != '\0'; }
  // The setting of the job that reached() goes by: "train.epochs"; "" where the run is not over.
  const char* reached_by(const RunPlace& place) const;
  // Whether the hours have just come to their end: true once.
  bool look_at_clock();
  // That they have, as another process's clock says.
  void end_hours() { time_is_up_ = true; }
  bool is_last_epoch(std::int64_t epoch) const { return epoch == rule_.epochs; }

  // Until the end, where a batch of an epoch of so many takes so long.
  double seconds_left(const RunPlace& place, std::int64_t batches, std::int64_t accumulate, double seconds_of_batch) const;

 private:
  const EndRule rule_;
  double before_ = 0;
  std::optional<double> begun_;
  bool time_is_up_ = false;
};

}  // namespace graphrun
