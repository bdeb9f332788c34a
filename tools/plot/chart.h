// Draws curves of runs as SVG: one panel for each figure, one color for each run.
#pragma once

#include <string>
#include <vector>

#include "tools/plot/curves.h"

namespace graphrun {

// Steps of 1, 2 or 5 times a power of ten from `low` to `high`, about `count` of them.
std::vector<double> nice_ticks(double low, double high, int count);

// Draws all curves of all runs, in the order of the first run that has each.
std::string draw_runs(const std::vector<RunCurves>& runs);

}  // namespace graphrun
