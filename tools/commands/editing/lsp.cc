// graphrun lsp: the language server.
#include "tools/lsp/server.h"

#include <unistd.h>

#include "tools/commands/command_line.h"

namespace graphrun {

ExitCode run_lsp(const Arguments& arguments) {
  CommandLine line;
  line.usage = "graphrun lsp";
  line.about =
      "Serves editors: the language server protocol on stdin and stdout, for graphs and jobs. Shows mistakes while you type,\n"
      "completes names and fields, and shows types and sizes; finds and renames names across files; formats. Starts no "
      "program\n"
      "and writes no file. tools/editor/ has settings for Vim, Neovim, Emacs and VS Code.";
  line.examples = {"graphrun lsp    # as an editor starts it"};
  line.groups.push_back(po::options_description("protocol", 100));
  line.groups.back().add_options()("stdio", po::bool_switch(), "accepted for editors that pass it: there is no other way");
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;
  return lsp::serve(STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace graphrun
