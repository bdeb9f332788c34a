// starts.jsonl: who started a run and who resumed it: one JSON object for each start of the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/model/layout.h"

namespace graphrun {

// Adds a line: time, command, working folder, the step it begins at, program (version, compiler, flags, and
// the build ids of program and library), threads, processor,
// machine, process. A line that a full disk or a kill cut off is left out. Throws what writing a file throws.
void record_start(const ModelLayout& layout, const std::vector<std::string>& command, std::int64_t step);

}  // namespace graphrun
