// graphrun help [COMMAND | OP | ops]
#include <fmt/format.h>

#include "compiler/ir/foreign_names.h"
#include "compiler/ir/op.h"
#include "tools/commands/command_line.h"
#include "tools/help/op_reference.h"

namespace graphrun {

ExitCode run_help(const Arguments& arguments) {
  CommandLine line;
  line.usage = "graphrun help [COMMAND | OP | ops]";
  line.about =
      "Prints what a command does, an operator's reference, or the list of all operators. Of an operator with a command's "
      "name\n"
      "the reference follows.";
  line.words = {{"NAME", false}};
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;
  const std::string name = option<std::string>(*options, "NAME");
  if (name.empty()) {
    fmt::print("{}", program_help());
    return ExitCode::kDone;
  }
  if (name == "ops") {
    fmt::print("{}", op_list());
    return ExitCode::kDone;
  }
  const Command* command = find_command(name);
  const ir::OpSchema* op = ir::OpRegistry::instance().find(name);
  if (command == nullptr && op == nullptr) {
    std::vector<std::string> known = command_names();
    for (std::string& other : op_names()) known.push_back(std::move(other));
    std::string near = did_you_mean(name, known);
    if (const std::string here = ir::here_op_is(name); !here.empty()) near = here;
    throw UsageError(fmt::format("there is no command and no operator '{}'{}", name, near.empty() ? "" : "; " + near));
  }
  if (command != nullptr) command->run({"--help"});
  if (op != nullptr) fmt::print("{}{}", command != nullptr ? "\n" : "", op_reference(*op));
  return ExitCode::kDone;
}

}  // namespace graphrun
