// Measures the speed of a run.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tools/data/batch.h"
#include "tools/run/clock.h"

namespace graphrun {

// Tokens are the real steps, without padding, of the first feed in the job that is a sequence and that the network reads; if
// there is none, each example is one token. An example of a stream is one window of a row.
struct Work {
  std::int64_t updates = 0, batches = 0, examples = 0, tokens = 0;
  double seconds = 0;

  double per_second(std::int64_t count) const { return static_cast<double>(count) / std::max(seconds, 1e-9); }
};

// The work of training since the meter was restarted or last read. Time within a Pause does not count.
class WorkMeter {
 public:
  void restart() {
    work_ = {};
    begun_ = seconds_now();
    paused_ = 0;
  }
  void add(const Batch& batch) {
    ++work_.batches;
    work_.examples += batch.rows;
    work_.tokens += batch.tokens;
  }
  void add_update() { ++work_.updates; }
  Work so_far() const {
    Work work = work_;
    work.seconds = std::max(0.0, seconds_now() - begun_ - paused_);
    return work;
  }
  Work take() {
    const Work work = so_far();
    restart();
    return work;
  }

  class Pause {
   public:
    explicit Pause(WorkMeter& meter) : meter_(meter) {}
    ~Pause() { meter_.paused_ += seconds(); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    double seconds() const { return seconds_now() - begun_; }

   private:
    WorkMeter& meter_;
    const double begun_ = seconds_now();
  };

 private:
  Work work_;
  double begun_ = seconds_now(), paused_ = 0;
};

}  // namespace graphrun
