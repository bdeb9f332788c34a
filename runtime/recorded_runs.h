// Runs of one binding that a device has noted whole, to be done again without the host's doing them kernel by kernel: a network
// of small kernels costs a device less than their launches cost the host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/backend.h"

namespace graphrun {

class RecordedRuns {
 public:
  // `launches`: about how many a run makes.
  explicit RecordedRuns(std::int64_t launches) : launches_(launches) {}

  // Does what `run` does on the device. Where that is the same whenever `places` are, it is recorded at the third time and
  // played from then on. Throws what `run` throws.
  void run(Backend& device, const std::vector<std::uint64_t>& places, const std::function<void()>& run);

 private:
  struct Run {
    std::vector<std::uint64_t> places;
    int times = 0;
    bool refused = false;
    std::shared_ptr<const Backend::Recording> recording;
  };
  Run& find(const std::vector<std::uint64_t>& places);

  const std::int64_t launches_;
  std::vector<Run> runs_;  // the last one used first
};

}  // namespace graphrun
