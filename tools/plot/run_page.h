// The page of one or several runs, from what their folders hold.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/plot/alignments.h"
#include "tools/plot/page.h"

namespace graphrun {

struct RunPage {
  std::vector<std::string> folders;
  std::vector<std::string> names;  // of the runs, by folder
  // What was computed for the page: tables by report, "NAME" of the first run.
  std::vector<std::pair<std::string, std::vector<Table>>> details;
  std::vector<AlignedSentence> alignments;
  int refresh = 0;  // seconds; 0: the runs have ended
};

// Curves, watched figures, speed, memory, samples, tables, alignments, job, machine and log. Throws UserError (kBadData, E0690)
// for files that do not belong to a run.
std::string run_page(const RunPage& page);

// Whether the process that last started the run has ended, or ran on another machine.
bool run_has_ended(const std::string& folder);

}  // namespace graphrun
