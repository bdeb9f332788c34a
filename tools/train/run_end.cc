#include "tools/train/run_end.h"

#include <algorithm>
#include <limits>

namespace graphrun {

void RunEnd::restore(double seconds) {
  before_ = seconds;
  look_at_clock();
}

const char* RunEnd::reached_by(const RunPlace& place) const {
  if (rule_.epochs > 0 && place.next.epoch > rule_.epochs) return "train.epochs";
  if (rule_.updates > 0 && place.updates >= rule_.updates) return "train.updates";
  return time_is_up_ ? "train.hours" : "";
}

bool RunEnd::look_at_clock() {
  if (time_is_up_ || rule_.hours <= 0 || seconds() < rule_.hours * 3600) return false;
  return time_is_up_ = true;
}

double RunEnd::seconds_left(const RunPlace& place, std::int64_t batches, std::int64_t accumulate,
                            double seconds_of_batch) const {
  double left = std::numeric_limits<double>::infinity();
  const auto at_most = [&](std::int64_t more) { left = std::min(left, static_cast<double>(more) * seconds_of_batch); };
  if (rule_.epochs > 0) at_most((rule_.epochs - place.next.epoch + 1) * batches - place.next.batch);
  if (rule_.updates > 0) at_most((rule_.updates - place.updates) * accumulate);
  if (rule_.hours > 0) left = std::min(left, rule_.hours * 3600 - seconds());
  return std::max(left, 0.0);
}

}  // namespace graphrun
