// starts.jsonl: one JSON object for each start of a run, the first and every resumption.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/model/layout.h"

namespace graphrun {

// Adds a line: time, command, working folder, first step, program (version, compiler, flags, and the build ids of program and
// library), processes, threads, kind of device, processor, machine, process. Drops a line that a full disk or a kill cut off.
// Throws what writing a file throws.
void record_start(const ModelLayout& layout, const std::vector<std::string>& command, std::int64_t step, bool on_cpu,
                  int processes);

// The updates that one start of a run made, except those that a later start repeated.
struct MadeUpdates {
  std::int64_t first = 0;  // counted from 1
  std::int64_t last = 0;   // the largest number for the newest start
  std::int64_t processes = 1;
};
// Of all starts, by time; without those that made none, and without lines that cannot be read.
std::vector<MadeUpdates> made_updates(const std::string& folder);

// Whether a folder has a run that began on the CPU. False if there is no run.
bool began_on_cpu(const std::string& folder);

}  // namespace graphrun
