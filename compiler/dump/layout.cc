#include "compiler/dump/layout.h"

#include <cstring>

#include "runtime/base/process.h"
#include "runtime/base/status.h"

namespace graphrun {

std::string lay_out(const std::string& dot, const std::string& format) {
  EndedProgram ended = run_program({"dot", "-T" + format}, dot);
  const std::string note = "help: --format=dot gives the text that it draws from";
  if (ended.error != 0)
    throw UserError(
        ExitCode::kRunFailed, "E0514 no-graphviz",
        std::string("Graphviz's program 'dot', which draws graphs, can't be started: ") + std::strerror(ended.error),
        ended.error == ENOENT ? std::vector<std::string>{"help: Debian's package is graphviz", note}
                              : std::vector<std::string>{note});
  if (ended.code != 0) {
    const std::string why = ended.errors.empty() ? "" : ": " + ended.errors.substr(0, ended.errors.find('\n'));
    throw UserError(ExitCode::kRunFailed, "E0510 cannot-draw",
                    "Graphviz cannot draw this graph: 'dot' ended with exit code " + std::to_string(ended.code) + why, {note});
  }
  return std::move(ended.output);
}

}  // namespace graphrun
