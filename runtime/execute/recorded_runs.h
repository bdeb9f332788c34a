// Runs of one binding that a device has noted whole, to be done again without the host's doing them kernel by kernel: a network
// of small kernels costs a device less than their launches cost the host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/device/backend.h"

namespace graphrun {

// How many launches the recordings of one executable may still keep: each holds its arguments, in memory that is not the
// arena's.
struct RecordingBudget {
  std::int64_t left = std::int64_t{1} << 18;
};

class RecordedRuns {
 public:
  // `launches`: about how many a run makes.
  RecordedRuns(std::int64_t launches, std::shared_ptr<RecordingBudget> budget)
      : launches_(launches), budget_(std::move(budget)) {}
  ~RecordedRuns();

  // Does what `run` does on the device. Where that is the same whenever `places` are, it is recorded at the third time and
  // played from then on; true: it was played. Throws what `run` throws; what cannot be recorded is run.
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
  std::vector<Run> runs_;  // the last one used first
};

}  // namespace graphrun
