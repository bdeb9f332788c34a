// How fast a run goes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace graphrun {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Speed {
 public:
  void restart() {
    begun_ = seconds_now();
    tokens_ = steps_ = 0;
  }
  void add(std::int64_t tokens) {
    tokens_ += tokens;
    ++steps_;
  }
  double seconds() const { return seconds_now() - begun_; }
  double tokens_per_second() const { return static_cast<double>(tokens_) / std::max(seconds(), 1e-9); }
  double seconds_per_step() const { return seconds() / static_cast<double>(std::max<std::int64_t>(steps_, 1)); }

 private:
  double begun_ = 0;
  std::int64_t tokens_ = 0, steps_ = 0;
};

}  // namespace graphrun
