// graphrun plot MODEL …: the curves of training runs.
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "tools/cli/program.h"
#include "tools/commands/command_line.h"
#include "tools/plot/alignments.h"
#include "tools/plot/chart.h"

namespace graphrun {
namespace {

// Runs in folders of the same name are called by their paths: a/model and b/model.
void name_apart(std::vector<RunCurves>& runs, const std::vector<std::string>& folders) {
  std::map<std::string, int> times;
  for (const RunCurves& run : runs) ++times[run.name];
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (times[runs[r].name] > 1) runs[r].name = folders[r];
  }
}

}  // namespace

ExitCode run_plot(const Arguments& arguments) {
  po::options_description group("picture", 100);
  group.add_options()("alignments", po::value<std::string>()->value_name("FILE"),
                      "instead of runs: the alignments that `graphrun infer --json` wrote")(
      "out,o", po::value<std::string>()->default_value("-")->value_name("FILE"), "the SVG file; - is stdout");
  CommandLine line;
  line.usage = "graphrun plot MODEL ... [-o FILE]\n       graphrun plot --alignments FILE [-o FILE]";
  line.about =
      "Draws the curves of training runs, several in one picture: loss, gradient norm, learning rate, and each report on the\n"
      "validation data. MODEL is a folder to which graphrun train wrote or is writing, or a folder of such folders, as with\n"
      "--seeds.";
  line.examples = {"graphrun plot run -o curves.svg", "graphrun plot runs/lstm runs/atr -o both.svg"};
  line.words = {{"MODEL", false, true}};
  line.groups.push_back(group);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const auto out = option<std::string>(*options, "out");
  if (const std::string kind = std::filesystem::path(out).extension(); !kind.empty() && kind != ".svg")
    throw UsageError(fmt::format("--out {}: the picture is SVG; expected a name that ends in .svg", out));
  if (options->count("alignments") != 0) {
    if (options->count("MODEL") != 0) throw UsageError("--alignments takes the place of MODEL");
    const auto file = option<std::string>(*options, "alignments");
    const std::vector<AlignedSentence> sentences = parse_alignments(read_input(file), file == "-" ? "stdin" : file);
    if (sentences.empty())
      throw UserError(ExitCode::kBadData, "E0691 bad-alignments", "there is nothing to draw: no line has words");
    write_output(out, draw_alignments(sentences));
    return ExitCode::kDone;
  }
  if (options->count("MODEL") == 0) throw UsageError("MODEL is missing: the folder of a run, or several");
  std::vector<std::string> folders;
  for (const std::string& given : option<std::vector<std::string>>(*options, "MODEL")) {
    const std::vector<std::string> held = runs_in(given);
    folders.insert(folders.end(), held.begin(), held.end());
  }
  std::vector<RunCurves> runs;
  bool any = false;
  for (const std::string& folder : folders) {
    runs.push_back(read_run(folder));
    any = any || !runs.back().order.empty();
  }
  name_apart(runs, folders);
  if (!any)
    throw UserError(ExitCode::kBadData, "E0690 bad-metrics", "there is nothing to draw: no run has any figures yet",
                    {"help: a run has its first figures after 100 steps or an epoch"});
  write_output(out, draw_runs(runs));
  return ExitCode::kDone;
}

}  // namespace graphrun
