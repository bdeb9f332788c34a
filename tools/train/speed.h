// How fast a run goes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tools/data/batch.h"
#include "tools/train/clock.h"

namespace graphrun {

// Tokens are real steps, padding excluded, of the first feed in the job's order that the network reads and that is a sequence;
// where none is, each example is one. An example of a stream is a row's window.
struct Work {
  std::int64_t updates = 0, examples = 0, tokens = 0;
  double seconds = 0;

  double per_second(std::int64_t count) const { return static_cast<double>(count) / std::max(seconds, 1e-9); }
};

// What training did since its meter was last read. Time in a Pause is not training's.
class WorkMeter {
 public:
  void restart() {
    work_ = {};
    begun_ = seconds_now();
    paused_ = 0;
  }
  void add(const Batch& batch) {
    work_.examples += batch.rows;
    work_.tokens += batch.tokens;
  }
  void add_update() { ++work_.updates; }
  Work take() {
    Work work = work_;
    work.seconds = std::max(0.0, seconds_now() - begun_ - paused_);
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

// For whoever watches: since the epoch began, validations included.
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
