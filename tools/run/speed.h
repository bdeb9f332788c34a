// How fast a run goes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tools/data/batch.h"
#include "tools/run/clock.h"

namespace graphrun {

// Tokens are real steps, padding excluded, of the first feed in the job's order that the network reads and that is a sequence;
// where none is, each example is one. An example of a stream is a row's window.
struct Work {
  std::int64_t updates = 0, batches = 0, examples = 0, tokens = 0;
  double seconds = 0;

  double per_second(std::int64_t count) const { return static_cast<double>(count) / std::max(seconds, 1e-9); }
};

// What training did since its meter was restarted or its work taken. Time in a Pause is not training's.
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
