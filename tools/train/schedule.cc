#include "tools/train/schedule.h"

namespace graphrun {

void LearningRate::begin_epoch(std::int64_t epoch) {
  if (rule_.kind == ScheduleRule::Kind::kPerEpoch && epoch >= rule_.from) rate_ *= rule_.factor;
}

void LearningRate::after_validation(bool improved) {
  if (rule_.kind == ScheduleRule::Kind::kNoImprovement && !improved) rate_ *= rule_.factor;
}

}  // namespace graphrun
