// graphrun check FILE: the mistakes of a graph or a job.
#include <fmt/format.h>

#include <cstdio>

#include "compiler/frontend/source.h"
#include "tools/commands/command_line.h"
#include "tools/validate/validate.h"

namespace graphrun {

ExitCode run_check(const Arguments& arguments) {
  CommandLine line;
  line.usage = "graphrun check FILE [option ...]";
  line.about =
      "Reads a graph or a job and everything that it names. Reports mistakes with line and column, stage by stage: those of\n"
      "the text first, then of names, then of types and shapes; an equation that reads a wrong value is checked once that\n"
      "value is right. If there is none, prints a summary.\n"
      "For a job that trains, it also reads the data, the word vectors and the models that initialize parameters.";
  line.examples = {"graphrun check graphs/cells/atr.pbtxt --set input=3 --set hidden=4",
                   "graphrun check graphs/jobs/segment_quick.pbtxt"};
  line.words = {{"FILE"}};
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const std::string path = option<std::string>(*options, "FILE");
  std::vector<Diagnostic> warnings;
  const std::string text = read_source(path);
  const std::string summary = is_job(text)
                                  ? validate_job(text, path, option<std::vector<std::string>>(*options, "set"), warnings)
                                  : validate_graph(path, set_bindings(*options), warnings);
  if (!warnings.empty()) fmt::print(stderr, "{}\n", render(warnings, color_on_stderr()));
  if (options->count("quiet") == 0) fmt::print("{}: ok\n{}", path, summary);
  return ExitCode::kDone;
}

}  // namespace graphrun
