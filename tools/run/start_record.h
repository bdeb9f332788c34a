// starts.jsonl: one JSON object for each start of a run, the first and every resumption.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/model/layout.h"

namespace graphrun {

// Adds a line: time, command, working folder, first step, program (version, compiler, flags, and the build ids of program and
// library), threads, kind of device, processor, machine, process. Drops a line that a full disk or a kill cut off. Throws what
// writing a file throws.
void record_start(const ModelLayout& layout, const std::vector<std::string>& command, std::int64_t step, bool on_cpu);

// Whether a folder has a run that began on the CPU. False if there is no run.
bool began_on_cpu(const std::string& folder);

}  // namespace graphrun
