// The curves of training runs, from their metrics.jsonl.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace graphrun {

using Points = std::vector<std::pair<double, double>>;  // step and value, in the order of the file

struct RunCurves {
  std::string name;
  std::vector<std::string> order;  // names of the curves, in the order of their first occurrence
  std::map<std::string, Points> curves;
  std::set<std::string> watched;  // the names of those that `train { watch { … } }` recorded
};

// The run folders in `folder`, or `folder` itself if it is a run. Throws UserError (kBadData, E0690) if there are none.
std::vector<std::string> runs_in(const std::string& folder);

// Tokens per second of training, and the peak memory in MiB, from the folder's speed.jsonl; without curves if there is none.
RunCurves read_speed(const std::string& folder);
// The names of runs: those of their folders, or where these are equal the paths.
std::vector<std::string> names_of_runs(const std::vector<std::string>& folders);
// The curves of a run's folder: "loss", "gradient norm", "learning rate" and, for every report, "valid NAME". The loss is that
// of the last steps, or of whole epochs if the run records no such line. Throws UserError (kBadData): E0501 if metrics.jsonl
// cannot be read, E0690 at an invalid line.
RunCurves read_run(const std::string& folder);
// The same from a text; `path` names it in messages.
RunCurves parse_metrics(const std::string& text, const std::string& path);

}  // namespace graphrun
