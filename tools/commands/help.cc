// graphrun help [COMMAND | OP | TOPIC | CODE]
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/foreign_names.h"
#include "compiler/ir/op.h"
#include "tools/commands/command_line.h"
#include "tools/help/op_reference.h"
#include "tools/help/topics.h"

namespace graphrun {
namespace {

bool is_topic(const std::string& name) {
  return std::any_of(topics().begin(), topics().end(), [&](const Topic& t) { return t.name == name; });
}

[[noreturn]] void unknown_topic(const std::string& name) {
  std::vector<std::string> known = command_names();
  for (std::string& other : op_names()) known.push_back(std::move(other));
  for (const Topic& topic : topics()) known.push_back(topic.name);
  std::string near = did_you_mean(name, known);
  if (const std::string here = ir::here_op_is(name); !here.empty()) near = here;
  throw UsageError(fmt::format("there is no command, operator or topic '{}'{}", name, near.empty() ? "" : "; " + near));
}

}  // namespace

ExitCode run_help(const Arguments& arguments) {
  CommandLine line;
  line.usage = "graphrun help [COMMAND | OP | TOPIC | CODE]";
  line.about =
      "Prints what a command does, an operator's reference, a topic, or what a message means by its code (E0306). Where "
      "several\n"
      "have one name they follow each other.\n"
      "\n"
      "topics:\n";
  for (const Topic& topic : topics()) line.about += fmt::format("  {:<10}  {}\n", topic.name, topic.summary);
  line.about.pop_back();
  line.words = {{"NAME", false}, {"PATH", false}};
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;
  const std::string name = option<std::string>(*options, "NAME"), path = option<std::string>(*options, "PATH");
  if (!path.empty() && name != "job") throw UsageError(fmt::format("'{}' is too much: only `help job` takes a path", path));
  if (name.empty()) {
    fmt::print("{}", program_help());
    return ExitCode::kDone;
  }
  if (is_message_code(name)) {
    fmt::print("{}", message_text(name));
    return ExitCode::kDone;
  }
  const Command* command = find_command(name);
  const ir::OpSchema* op = ir::OpRegistry::instance().find(name);
  if (command == nullptr && op == nullptr && !is_topic(name)) unknown_topic(name);
  if (command != nullptr) command->run({"--help"});
  if (op != nullptr) fmt::print("{}{}", command != nullptr ? "\n" : "", op_reference(*op));
  if (!is_topic(name)) return ExitCode::kDone;
  if (command != nullptr || op != nullptr) fmt::print("\n");
  fmt::print("{}", name == "ops" ? op_list() : name == "job" ? job_fields(path) : topic_text(name));
  return ExitCode::kDone;
}

}  // namespace graphrun
