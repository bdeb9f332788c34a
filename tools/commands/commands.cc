#include "tools/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/help/topics.h"

namespace graphrun {

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = {
      {"new", "makes a small project to begin with", run_new},
      {"train", "trains the network of a job", run_train},
      {"infer", "runs a trained model on lines of text", run_infer},
      {"evaluate", "prints a trained model's reports on data", run_evaluate},
      {"shortlist", "makes a table of translations, with which generation searches fewer words", run_shortlist},
      {"score", "scores text against references, and alignments against gold ones", run_score},
      {"run", "runs a graph once on given numbers", run_run},
      {"plot", "draws the curves of training runs", run_plot},
      {"report", "writes a page of training runs: curves, samples, speed, job, machine", run_report},
      {"compare", "trains variants of jobs with several seeds and compares them", run_compare},
      {"average", "averages several trained models", run_average},
      {"check", "reports mistakes in a graph or a job, with line and column", run_check},
      {"format", "formats graphs and jobs", run_format},
      {"lsp", "serves editors: mistakes, completion, types, renaming", run_lsp},
      {"data", "shows a batch of a job's data as the graph receives it", run_data},
      {"gradcheck", "compares derived gradients with finite differences", run_gradcheck},
      {"bench", "measures a layer of a cell, and says what keeps its loop from running as one kernel", run_bench},
      {"verify", "repeats the beginning of a run and compares it bit for bit", run_verify},
      {"replay", "repeats a run up to one update and shows what happens in it", run_replay},
      {"help", "explains commands, operators, topics, fields of jobs and messages", run_help},
  };
  return kCommands;
}

const Command* find_command(std::string_view name) {
  const auto it = std::find_if(commands().begin(), commands().end(), [&](const Command& c) { return c.name == name; });
  return it == commands().end() ? nullptr : &*it;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  return names;
}

std::string program_help() {
  std::string text =
      "usage: graphrun COMMAND [option ...]\n"
      "\n"
      "Trains and runs networks that are written as .pbtxt files.\n"
      "\n"
      "commands:\n";
  for (const Command& command : commands()) text += fmt::format("  {:<10}  {}\n", command.name, command.summary);
  text += "\ntopics (graphrun help TOPIC):\n";
  for (const Topic& topic : topics()) text += fmt::format("  {:<10}  {}\n", topic.name, topic.summary);
  text +=
      "\n"
      "graphrun COMMAND --help    a command's options\n"
      "graphrun help OP           an operator's reference\n"
      "graphrun help --gradients  how every operator is differentiated\n"
      "graphrun help FIELD        a field of a job, by name or path (train.updates)\n"
      "graphrun help E0306        the meaning of a message\n"
      "graphrun --version\n";
  return text;
}

}  // namespace graphrun
