#include "tools/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace graphrun {

bool Patience::improves(double value, bool highest, double margin) {
  const bool comparable = !std::isnan(value);
  const bool better = comparable && (!reference || (highest ? value - *reference : *reference - value) > 0);
  const bool enough = better && (!reference || std::abs(value - *reference) >= margin);
  if (!enough) {
    ++waited;
    return false;
  }
  reference = value;
  waited = 0;
  return true;
}

// The rate without the warm-up.
double LearningRate::shaped(std::int64_t update) const {
  const auto t = static_cast<double>(update), warmup = static_cast<double>(rule_.warmup);
  switch (rule_.kind) {
    case ScheduleRule::Kind::kInverseSquareRoot:
      return update > rule_.warmup ? state_.rate * std::sqrt(warmup / t) : state_.rate;
    case ScheduleRule::Kind::kCosine: {
      const double whole = static_cast<double>(rule_.steps) - warmup;
      const double part = std::clamp((t - warmup) / whole, 0.0, 1.0);
      const double least = std::min(rule_.least, state_.rate);
      return least + (state_.rate - least) * 0.5 * (1 + std::cos(std::numbers::pi * part));
    }
    case ScheduleRule::Kind::kGnmtPlus: {
      const double n = rule_.times, s = rule_.decay_from, e = rule_.decay_to;
      const double rising = 1 + t * (n - 1) / (n * rule_.gnmt_warmup), falling = n * std::pow(2 * n, (s - n * t) / (e - s));
      return state_.rate * std::min({rising, n, falling});
    }
    default: return state_.rate;
  }
}

double LearningRate::rate(std::int64_t update) const {
  if (update < rule_.warmup) return shaped(rule_.warmup) * static_cast<double>(update) / static_cast<double>(rule_.warmup);
  return std::max(shaped(update), rule_.least);
}

void LearningRate::begin_epoch(std::int64_t epoch) {
  if (rule_.kind == ScheduleRule::Kind::kPerEpoch && epoch >= rule_.from) state_.rate *= rule_.factor;
}

LearningRate::After LearningRate::after_validation(double value, bool highest, std::int64_t update) {
  if (rule_.kind != ScheduleRule::Kind::kNoImprovement) return After::kContinue;
  const double margin = std::max(rule_.margin, rule_.margin_of_rate * rate(update));
  if (state_.patience.improves(value, highest, margin)) {
    state_.decays = 0;
    return After::kContinue;
  }
  if (state_.patience.waited < rule_.patience) return After::kContinue;
  state_.patience.waited = 0;
  if (rule_.decays > 0 && state_.decays == rule_.decays) return After::kEnd;
  ++state_.decays;
  state_.rate *= rule_.factor;
  return rule_.restart ? After::kRestart : After::kContinue;
}

}  // namespace graphrun
