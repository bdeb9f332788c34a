#include "runtime/execute/recorded_runs.h"

#include <algorithm>

namespace graphrun {
namespace {

constexpr int kTimesBefore = 2;  // runs of a shape before it is recorded
// A recording stores the arguments of every launch: so longer runs get fewer recordings, and very long ones none.
constexpr std::int64_t kMostLaunches = 16384, kManyLaunches = 1024;
// Steps that are fed the results of the step before them alternate between two sets of addresses; other addresses occur where a
// batch begins or its rows are rearranged.
constexpr std::size_t kMostRuns = 8;

}  // namespace

RecordedRuns::Run& RecordedRuns::find(const std::vector<std::uint64_t>& places) {
  auto found = std::find_if(runs_.begin(), runs_.end(), [&](const Run& r) { return r.places == places; });
  if (found == runs_.end()) {
    const std::size_t most = launches_ > kManyLaunches ? 1 : kMostRuns;
    if (runs_.size() == most) {
      forget(runs_.back());
      runs_.pop_back();
    }
    runs_.push_back({places, 0, false, nullptr});
    found = runs_.end() - 1;
  }
  std::rotate(runs_.begin(), found, found + 1);
  return runs_.front();
}

void RecordedRuns::forget(Run& run) {
  if (run.recording) budget_->left += launches_;
  run.recording = nullptr;
}

RecordedRuns::~RecordedRuns() {
  for (Run& run : runs_) forget(run);
}

bool RecordedRuns::run(Backend& device, const std::vector<std::uint64_t>& places, const std::function<void()>& run) {
  if (launches_ > kMostLaunches) return run(), false;
  Run& r = find(places);
  if (r.recording) return device.play(*r.recording), true;
  if (r.refused || ++r.times <= kTimesBefore || launches_ > budget_->left) return run(), false;
  bool began = false;
  try {
    device.record();
    began = true;
    run();
    r.recording = device.recorded();
  } catch (...) {
    if (began) device.recorded();
  }
  if (r.recording) {
    budget_->left -= launches_;
    return device.play(*r.recording), true;
  }
  // If recording fails, run without it: an actual error will show again there.
  r.refused = true;
  return run(), false;
}

}  // namespace graphrun
