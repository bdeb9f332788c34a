// graphrun help [COMMAND | OP | TOPIC | FIELD | CODE | --gradients]
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/frontend/installation.h"
#include "compiler/ir/foreign_names.h"
#include "compiler/ir/op.h"
#include "graphs/graph.pb.h"
#include "tools/commands/command_line.h"
#include "tools/help/gradient_rules.h"
#include "tools/help/op_reference.h"
#include "tools/help/topics.h"

namespace graphrun {
namespace {

bool is_topic(const std::string& name) {
  return std::any_of(topics().begin(), topics().end(), [&](const Topic& t) { return t.name == name; });
}

// If a graph or a folder of graphs has this name, says so; otherwise "".
std::string graph_of(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path all = frontend::installed_graphs();
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(all, error), end; !error && at != end; at.increment(error)) {
    const fs::path path = at->path().lexically_relative(all);
    const bool is_folder = at->is_directory(error);
    if (!is_folder && path.extension() != ".pbtxt") continue;
    const std::vector<std::string> names = {path.string(), fs::path(path).replace_extension().string(), path.stem().string()};
    if (std::find(names.begin(), names.end(), name) != names.end()) found.push_back("graphs/" + path.string());
  }
  if (found.empty()) return "";
  std::sort(found.begin(), found.end());
  return fmt::format("graphrun comes with {}: `graphrun help networks` lists what is there", fmt::join(found, ", "));
}

// What names of a part of graphs, `scan { … }` or `repeat { … }`, refer to; "" if graphs have no such part.
std::string part_of_graphs(const std::string& name) {
  const auto* const field = Graph::descriptor()->FindFieldByName(name);
  if (field == nullptr) return "";
  const bool braces = field->message_type() != nullptr;
  return fmt::format("`{}{}` is a part of a graph: see `graphrun help graph {}`", name, braces ? " { … }" : ": \"…\"", name);
}

[[noreturn]] void unknown_topic(const std::string& name) {
  std::vector<std::string> known = command_names();
  for (std::string& other : op_names()) known.push_back(std::move(other));
  for (const Topic& topic : topics()) known.push_back(topic.name);
  for (const Schema schema : {Schema::kJob, Schema::kGraph}) {
    for (std::string& field : field_names(schema)) known.push_back(std::move(field));
  }
  std::string near = ir::here_op_is(name);
  if (near.empty()) near = graph_of(name.substr(0, name.find_last_not_of('/') + 1));
  if (near.empty()) near = did_you_mean(name, known);
  throw UsageError(fmt::format("there is no command, operator, topic or field '{}'{}", name, near.empty() ? "" : "; " + near));
}

// Prints the fields of a job or, if it has none, of a graph that `name` may mean: the only one, or a list. False if there is
// none.
bool print_fields(const std::string& name) {
  for (const Schema schema : {Schema::kJob, Schema::kGraph}) {
    const std::string of = schema == Schema::kJob ? "job" : "graph";
    if (const std::size_t dot = name.find('.'); dot != std::string::npos && is_part_of(schema, name.substr(0, dot))) {
      fmt::print("{}", schema_fields(schema, name));
      return true;
    }
    const std::vector<SchemaField> fields = fields_named(schema, name);
    if (fields.size() == 1) {
      fmt::print("{} of a {}:\n\n{}", fields[0].path, of, schema_fields(schema, fields[0].path));
    } else if (!fields.empty()) {
      fmt::print("several fields of a {0} have this name or value; `graphrun help {0} {1}` prints one:\n", of, fields[0].path);
      for (const SchemaField& field : fields) fmt::print("  {}\n", field.path);
    }
    if (!fields.empty()) return true;
  }
  return false;
}

}  // namespace

ExitCode run_help(const Arguments& arguments) {
  CommandLine line;
  line.usage = "graphrun help [COMMAND | OP | TOPIC | FIELD | CODE | --gradients]";
  line.about =
      "Describes a command, an operator, a topic, a field of a job (train.updates) or of a graph\n"
      "(parameter.init), or a message by its code (E0306).\n"
      "\n"
      "topics:\n";
  for (const Topic& topic : topics()) line.about += fmt::format("  {:<10}  {}\n", topic.name, topic.summary);
  line.about.pop_back();
  line.examples = {"graphrun help train", "graphrun help softmax", "graphrun help train.updates", "graphrun help E0306"};
  line.words = {{"NAME", false}, {"PATH", false}};
  line.groups.emplace_back("pages", 100);
  line.groups.back().add_options()("gradients", "the derivative rule of every operator, one per line");
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;
  const std::string name = option<std::string>(*options, "NAME"), path = option<std::string>(*options, "PATH");
  if (!path.empty() && name != "job" && name != "graph")
    throw UsageError(fmt::format("'{}' is too much: only `help job` and `help graph` take a path", path));
  if (options->count("gradients") != 0) {
    if (!name.empty()) throw UsageError(fmt::format("'{}' is too much: --gradients prints the rules of all operators", name));
    fmt::print("{}", gradient_rules());
    return ExitCode::kDone;
  }
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
  if (command == nullptr && op == nullptr && !is_topic(name)) {
    if (!print_fields(name)) unknown_topic(name);
    return ExitCode::kDone;
  }
  if (command != nullptr) command->run({"--help"});
  if (op != nullptr) {
    const std::string part = op->internal ? part_of_graphs(name) : "";
    fmt::print("{}{}{}", command != nullptr ? "\n" : "", part.empty() ? "" : part + ". The operator that implements it:\n\n",
               op_reference(*op));
  }
  if (!is_topic(name)) return ExitCode::kDone;
  if (command != nullptr || op != nullptr) fmt::print("\n");
  fmt::print("{}", name == "ops"     ? op_list()
                   : name == "job"   ? schema_fields(Schema::kJob, path)
                   : name == "graph" ? schema_fields(Schema::kGraph, path)
                                     : topic_text(name));
  return ExitCode::kDone;
}

}  // namespace graphrun
