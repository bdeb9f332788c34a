// graphrun format FILE…: graphs and jobs in the style of the shipped ones.
#include "tools/format/format.h"

#include <fmt/format.h>

#include <cstdio>

#include "compiler/frontend/source.h"
#include "tools/commands/command_line.h"

namespace graphrun {

ExitCode run_format(const Arguments& arguments) {
  po::options_description group("what to write", 100);
  group.add_options()("check", po::bool_switch(),
                      "change nothing; list files that would change, and end with exit code 1 if there are any")(
      "stdout", po::bool_switch(), "write to stdout instead of the files");
  CommandLine line;
  line.usage = "graphrun format FILE ... [option ...]";
  line.about =
      "Formats graphs and jobs: spaces, indents, columns and long lines. Keeps comments, blank lines, the order of fields and\n"
      "the meaning. Leaves a file that cannot be parsed as it is and reports its mistakes. With - as FILE, formats stdin to\n"
      "stdout.";
  line.examples = {"graphrun format janet.pbtxt graphs/cells/*.pbtxt", "graphrun format --check mine/*.pbtxt",
                   "graphrun format - < job.pbtxt"};
  line.words = {{"FILE", true, true}};
  line.groups.push_back(group);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const bool check = option<bool>(*options, "check");
  std::vector<Diagnostic> mistakes;
  bool changes = false;
  for (const std::string& path : option<std::vector<std::string>>(*options, "FILE")) {
    try {
      const bool piped = path == "-";
      const std::string text = piped ? read_input(path) : read_source(path);
      const std::string formatted = format_source(text, piped ? intern_text("stdin", text) : intern_file(path));
      if (check) {
        if (formatted != text) fmt::print("{}\n", piped ? "stdin" : path);
        changes |= formatted != text;
      } else if (piped || option<bool>(*options, "stdout")) {
        write_output("-", formatted);
      } else if (formatted != text) {
        write_output(path, formatted);
        if (options->count("quiet") == 0) fmt::print(stderr, "formatted {}\n", path);
      }
    } catch (const UserError& error) {
      if (error.exit_code() != ExitCode::kInvalidGraph) throw;
      mistakes.insert(mistakes.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!mistakes.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(mistakes));
  return changes ? ExitCode::kRunFailed : ExitCode::kDone;
}

}  // namespace graphrun
