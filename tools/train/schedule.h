// The learning rate over a run, and when it has fallen often enough.
#pragma once

#include <cstdint>
#include <optional>

namespace graphrun {

struct ScheduleRule {
  enum class Kind : std::uint8_t {
    kConstant,
    kPerEpoch,           // times `factor` at the start of each epoch from `from` on
    kNoImprovement,      // times `factor` after `patience` validations that did not improve the kept report
    kInverseSquareRoot,  // times √(warmup / t) at update t
    kCosine,             // half a cosine, from the end of the warm-up to update `steps`
    kGnmtPlus,           // up, level, down exponentially
  } kind = Kind::kConstant;
  double factor = 1;
  std::int64_t from = 1;  // an epoch, from 1
  // kNoImprovement
  std::int64_t patience = 1;
  double margin = 0, margin_of_rate = 0;
  std::int64_t decays = 0;  // so many without an improvement end the training; 0: none
  bool restart = false;     // from the best parameters
  // Of all but kGnmtPlus: updates over which the rate rises.
  std::int64_t warmup = 0;
  double least = 0;
  std::int64_t steps = 0;  // kCosine
  // kGnmtPlus: n, p, s and e of its formula.
  double times = 1, gnmt_warmup = 1, decay_from = 0, decay_to = 1;
};

// Counts validations without an improvement. Better: by at least `margin` than the last value that was better.
struct Patience {
  std::optional<double> reference;
  std::int64_t waited = 0;
  // Whether `value` is better; else one more has been waited for.
  bool improves(double value, bool highest, double margin);
  friend bool operator==(const Patience&, const Patience&) = default;
};

// What changes during a run; a checkpoint that holds it restores a schedule exactly.
struct ScheduleState {
  double rate = 0;  // before what depends on the number of the update
  Patience patience;
  std::int64_t decays = 0;  // since the last improvement
  friend bool operator==(const ScheduleState&, const ScheduleState&) = default;
};

class LearningRate {
 public:
  LearningRate(const ScheduleRule& rule, double start) : rule_(rule) { state_.rate = start; }

  // Of update number `update`, from 1.
  double rate(std::int64_t update) const;
  const ScheduleState& state() const { return state_; }
  void restore(const ScheduleState& state) { state_ = state; }

  // Epochs count from 1; once at the start of each.
  void begin_epoch(std::int64_t epoch);

  enum class After : std::uint8_t { kGoOn, kRestart, kEnd };
  // A validation gave `value` of the kept report behind update number `update`. kRestart: the rate fell, and the parameters are
  // to be the best again.
  After after_validation(double value, bool highest, std::int64_t update);

 private:
  double shaped(std::int64_t update) const;

  ScheduleRule rule_;
  ScheduleState state_;
};

}  // namespace graphrun
