// graphrun plot MODEL …: the curves of training runs.
#include "tools/cli/program.h"
#include "tools/commands/command_line.h"
#include "tools/plot/chart.h"

namespace graphrun {

ExitCode run_plot(const Arguments& arguments) {
  po::options_description group("picture", 100);
  group.add_options()("out,o", po::value<std::string>()->default_value("-")->value_name("FILE"), "the SVG file; - is stdout");
  CommandLine line;
  line.usage = "graphrun plot MODEL ... [-o FILE]";
  line.about =
      "Draws the curves of training runs, several in one picture: loss, gradient norm, learning rate, and each report on the\n"
      "validation data. MODEL is a folder that graphrun train made, or makes just now.";
  line.words = {{"MODEL", true, true}};
  line.groups.push_back(group);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  std::vector<RunCurves> runs;
  bool any = false;
  for (const std::string& folder : option<std::vector<std::string>>(*options, "MODEL")) {
    runs.push_back(read_run(folder));
    any = any || !runs.back().order.empty();
  }
  if (!any)
    throw UserError(ExitCode::kBadData, "E0690 bad-metrics", "there is nothing to draw: no run has any figures yet",
                    {"help: a run has its first figures after 100 steps or an epoch"});
  write_output(option<std::string>(*options, "out"), draw_runs(runs));
  return ExitCode::kDone;
}

}  // namespace graphrun
