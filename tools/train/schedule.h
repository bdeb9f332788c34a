// The learning rate during a run, and early stopping by the number of its decays.
#pragma once

#include <cstdint>
#include <optional>

namespace graphrun {

struct ScheduleRule {
  enum class Kind : std::uint8_t {
    kConstant,
    kPerEpoch,           // multiplied by `factor` at the start of each epoch from `from` on
    kNoImprovement,      // multiplied by `factor` after `patience` validations that did not improve the kept report
    kInverseSquareRoot,  // multiplied by √(warmup / t) at update t
    kCosine,             // half a cosine, from the end of the warm-up to update `steps`
    kGnmtPlus,           // rises, stays, then falls exponentially
  } kind = Kind::kConstant;
  double factor = 1;
  std::int64_t from = 1;  // an epoch, from 1
  // kNoImprovement
  std::int64_t patience = 1;
  double margin = 0, margin_of_rate = 0;
  std::int64_t decays = 0;  // decays without an improvement that end the training; 0: never
  bool restart = false;     // from the best parameters
  // All but kGnmtPlus: number of updates during which the rate rises.
  std::int64_t warmup = 0;
  double least = 0;
  std::int64_t steps = 0;  // kCosine
  // kGnmtPlus: n, p, s and e in its formula.
  double times = 1, gnmt_warmup = 1, decay_from = 0, decay_to = 1;
};

// Counts validations without an improvement. A value is better if it improves on the last better value by at least `margin`.
struct Patience {
  std::optional<double> reference;
  std::int64_t waited = 0;
  // Whether `value` is better; otherwise increases the count.
  bool improves(double value, bool highest, double margin);
  friend bool operator==(const Patience&, const Patience&) = default;
};

// The part that changes during a run; restoring it from a checkpoint continues the schedule exactly.
struct ScheduleState {
  double rate = 0;  // without the part that depends on the number of the update
  Patience patience;
  std::int64_t decays = 0;  // decays since the last improvement
  friend bool operator==(const ScheduleState&, const ScheduleState&) = default;
};

class LearningRate {
 public:
  LearningRate(const ScheduleRule& rule, double start) : rule_(rule) { state_.rate = start; }

  // The rate of update number `update`, from 1.
  double rate(std::int64_t update) const;
  const ScheduleState& state() const { return state_; }
  void restore(const ScheduleState& state) { state_ = state; }

  // Call it once at the start of each epoch. Epochs count from 1.
  void begin_epoch(std::int64_t epoch);

  enum class After : std::uint8_t { kContinue, kRestart, kEnd };
  // Call it after a validation with the value of the kept report, after update number `update`. kRestart: the rate fell, and
  // training continues from the best parameters.
  After after_validation(double value, bool highest, std::int64_t update);

 private:
  double shaped(std::int64_t update) const;

  ScheduleRule rule_;
  ScheduleState state_;
};

}  // namespace graphrun
