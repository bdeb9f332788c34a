// graphrun COMMAND …: finds the command and runs it.
#include <fmt/format.h>

#include <cstdio>

#include "tools/cli/build.h"
#include "tools/cli/program.h"
#include "tools/commands/commands.h"

namespace graphrun {
namespace {

ExitCode dispatch(const Arguments& words) {
  if (words.empty()) {
    fmt::print(stderr, "{}", program_help());
    return ExitCode::kUsage;
  }
  const std::string& first = words.front();
  if (first == "--help" || first == "-h") {
    fmt::print("{}", program_help());
    return ExitCode::kDone;
  }
  if (first == "--version") {
    const Build& build = this_build();
    fmt::print("graphrun {}\nbuilt with {}, {}\nbuild {}, library {}\n", build.version, build.compiler, build.flags,
               build.program_id, build.library_id);
    return ExitCode::kDone;
  }
  const Command* command = find_command(first);
  if (command == nullptr) {
    if (first.starts_with("-")) throw UsageError(fmt::format("options follow the command: graphrun COMMAND {} …", first));
    const std::string near = did_you_mean(first, command_names());
    throw UsageError(fmt::format("there is no command '{}'{}", first, near.empty() ? "" : "; " + near));
  }
  try {
    return command->run(Arguments(words.begin() + 1, words.end()));
  } catch (const UsageError& error) {
    throw UsageError(error.what(), command->name);
  }
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) {
  graphrun::secure_streams();
  graphrun::wait_without_long_spins(words);
  return graphrun::guarded("graphrun", [&] { return graphrun::dispatch({words + 1, words + count}); });
}
