// speed.jsonl: the speed and memory of a run, one JSON object per line. These figures depend on a clock and differ between
// runs; metrics.jsonl has the reproducible ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/run/line_file.h"
#include "tools/run/speed.h"

namespace graphrun {

struct SpeedLine {
  std::int64_t epoch = 1, step = 0;  // step: number of updates so far
  double seconds = 0;                // duration of the run, over all its starts
  Work training;                     // since the previous line
  std::string set;                   // that was evaluated, "valid" or "test"; empty: none
  Work evaluation;
};

class SpeedLog {
 public:
  // Throws what LineFile throws.
  explicit SpeedLog(const std::string& path) : file_(path) {}
  // Adds the time of day and the peak memory of the process.
  void write(const SpeedLine& line);

 private:
  LineFile file_;
};

// The run's seconds in the file's last line up to update `step`; 0 if there is none. Throws UserError (kBadData, E0501) if it
// cannot be read.
double seconds_before(const std::string& path, std::int64_t step);

// The peak resident memory of the process.
std::int64_t peak_resident_bytes();

}  // namespace graphrun
