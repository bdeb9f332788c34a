// The learning rate over a run.
#pragma once

#include <cstdint>

namespace graphrun {

struct ScheduleRule {
  enum class Kind : std::uint8_t {
    kConstant,
    kPerEpoch,       // times `factor` at the start of each epoch from `from` on
    kNoImprovement,  // times `factor` after each validation that did not improve the kept report
  } kind = Kind::kConstant;
  double factor = 1;
  std::int64_t from = 1;  // an epoch, from 1
};

// Its whole state is one number, so that a checkpoint restores it exactly.
class LearningRate {
 public:
  LearningRate(ScheduleRule rule, double start) : rule_(rule), rate_(start) {}

  double rate() const { return rate_; }
  void restore(double rate) { rate_ = rate; }

  // Epochs count from 1; once at the start of each.
  void begin_epoch(std::int64_t epoch);
  void after_validation(bool improved);

 private:
  ScheduleRule rule_;
  double rate_;
};

}  // namespace graphrun
