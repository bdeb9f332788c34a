// Runs of one binding that a device has recorded whole and replays without launching kernel by kernel: for networks of small
// kernels, launching takes the host longer than the kernels take the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/tensor/backend.h"

namespace graphrun {

// How many launches the recordings of one executable may still store: each stores its arguments, in memory outside the arena.
struct RecordingBudget {
  std::int64_t left = std::int64_t{1} << 18;
};

class RecordedRuns {
 public:
  // `launches`: the approximate number per run.
  RecordedRuns(std::int64_t launches, std::shared_ptr<RecordingBudget> budget)
      : launches_(launches), budget_(std::move(budget)) {}
  ~RecordedRuns();

  // Does what `run` does on the device. The work must be identical whenever `places` are; it is recorded the third time and
  // replayed from then on. Returns whether it was replayed. Throws whatever `run` throws; what cannot be recorded is run.
  bool run(Backend& device, const std::vector<std::uint64_t>& places, const std::function<void()>& run);

 private:
  struct Run {
    std::vector<std::uint64_t> places;
    int times = 0;
    bool refused = false;
    std::shared_ptr<const Backend::Recording> recording;
  };
  Run& find(const std::vector<std::uint64_t>& places);
  void forget(Run& run);

  const std::int64_t launches_;
  const std::shared_ptr<RecordingBudget> budget_;
  std::vector<Run> runs_;  // most recently used first
};

}  // namespace graphrun
