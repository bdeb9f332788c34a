// speed.jsonl: how fast a run goes and how much memory it takes, one JSON object a line. A clock made these figures, so no two
// runs have the same; metrics.jsonl has those that come again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/run/line_file.h"
#include "tools/run/speed.h"

namespace graphrun {

struct SpeedLine {
  std::int64_t epoch = 1, step = 0;  // step: updates so far
  double seconds = 0;                // of the run, in all its starts
  Work training;                     // since the line before
  std::string set;                   // that was evaluated, "valid" or "test"; empty: none
  Work evaluation;
};

class SpeedLog {
 public:
  // Throws what LineFile throws.
  explicit SpeedLog(const std::string& path) : file_(path) {}
  // With the time of day and the most memory that the process has had so far.
  void write(const SpeedLine& line);

 private:
  LineFile file_;
};

// What the file says of the run's seconds at its last line that does not lie behind update `step`; 0 where there is none.
// Throws UserError (kBadData, E0501) where it can't be read.
double seconds_before(const std::string& path, std::int64_t step);

// The most memory, resident, that the process has had.
std::int64_t peak_resident_bytes();

}  // namespace graphrun
