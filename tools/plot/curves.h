// The curves of training runs, out of their metrics.jsonl.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace graphrun {

using Points = std::vector<std::pair<double, double>>;  // step and value, in the order of the file

struct RunCurves {
  std::string name;
  std::vector<std::string> order;  // of the curves, as the file has them first
  std::map<std::string, Points> curves;
};

// The curves of a model's folder: "loss", "gradient norm", "learning rate" and, of every report, "valid NAME". The loss is that
// of the last steps, or of whole epochs where the run is too short for more than one such point. Throws UserError (kBadData):
// E0501 where the folder has no metrics, E0690 at a line that is none of a run's.
// The folder where it is a run's, else those in it that are. Throws UserError (kBadData, E0690) where there are none.
std::vector<std::string> runs_in(const std::string& folder);
RunCurves read_run(const std::string& folder);
// The same of a text; `path` names it.
RunCurves parse_metrics(const std::string& text, const std::string& path);

}  // namespace graphrun
