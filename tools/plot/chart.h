// Curves of runs as a picture: one panel for each figure, one colour for each run, as SVG.
#pragma once

#include <string>
#include <vector>

#include "tools/plot/curves.h"

namespace graphrun {

// Steps of 1, 2 or 5 times a power of ten from `low` to `high`, about `count` of them.
std::vector<double> nice_ticks(double low, double high, int count);

// All curves that any of the runs has, in the order of the first that has them.
std::string draw_runs(const std::vector<RunCurves>& runs);

}  // namespace graphrun
