#include "tools/validate/validate.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "compiler/frontend/graph_paths.h"
#include "compiler/frontend/source.h"
#include "compiler/frontend/text_hints.h"
#include "tools/cli/shell.h"
#include "tools/job/bindings.h"
#include "tools/job/data_files.h"
#include "tools/job/train_check.h"
#include "tools/model/evaluator.h"
#include "tools/model/model_folder.h"
#include "tools/model/network_check.h"
#include "tools/train/begin.h"
#include "tools/train/stepper.h"
#include "tools/train/training_data.h"

namespace graphrun {
namespace {

std::string lines_of(std::string_view title, const std::vector<std::string>& entries) {
  if (entries.empty()) return "";
  std::string text = fmt::format("{}:\n", title);
  for (const std::string& entry : entries) text += "  " + entry + "\n";
  return text;
}

// Recognizes a job by its top-level fields: those that graphs lack, and those that are messages in a graph but text in a job.
bool has_fields_of_a_job(std::string_view text) {
  const std::set<std::string_view> of_jobs = {"data", "train", "infer", "report"}, texts_of_jobs = {"graph", "arg"};
  const auto name_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (const std::size_t end = end_of_aside(text, i); end > i) {
      i = end;
    } else if (c == '{' || c == '<' || c == '[') {
      ++depth;
    } else if (c == '}' || c == '>' || c == ']') {
      --depth;
    } else if (name_part(c)) {
      const std::size_t begin = i;
      while (i + 1 < text.size() && name_part(text[i + 1])) ++i;
      const std::string_view name = text.substr(begin, i + 1 - begin);
      const auto mark = [&](std::size_t from) { return std::min(text.find_first_not_of(" \t\r\n", from), text.size()); };
      const std::size_t colon = mark(i + 1), value = colon < text.size() && text[colon] == ':' ? mark(colon + 1) : text.size();
      if (depth != 0 || colon == text.size()) continue;
      if (of_jobs.count(name) != 0 && (text[colon] == '{' || text[colon] == ':')) return true;
      if (texts_of_jobs.count(name) != 0 && value < text.size() && (text[value] == '"' || text[value] == '\'')) return true;
    }
  }
  return false;
}

}  // namespace

bool is_job(std::string_view text) {
  const std::string declared = declared_message(text);
  if (!declared.empty()) return declared == "graphrun.Job";
  return has_fields_of_a_job(text);
}

namespace {

// "graphrun run graphs/tagger.pbtxt --set hidden=3": the graph of a job with its args.
std::string command_for_graph(const LoadedJob& job, const std::string& command) {
  GraphRequest request;
  request.job = job.path;
  const frontend::GraphPaths paths(request);
  const frontend::GraphPaths::Found found = paths.find(job.message.graph(), {frontend::Namer::Kind::kFile, job.path, ""});
  std::string text = command + " " + shell_quoted(found.file.empty() ? job.message.graph() : found.shown);
  for (int i = 0; i < job.message.arg_size(); ++i)
    for (const BindingText& arg : split_bindings(job.places.text("arg", static_cast<std::size_t>(i)))) {
      // Values that depend on the job's data or folder need another form on the command line.
      std::string value = arg.value.text.find("vocabulary(") != std::string::npos ? "NUMBER" : arg.value.text;
      if (value.ends_with(".pbtxt"))
        if (const auto file = paths.find(value, {frontend::Namer::Kind::kFile, job.path, ""}); !file.file.empty())
          value = file.shown;
      text += " --set " + shell_quoted(arg.name + "=" + value);
    }
  return text;
}

}  // namespace

ir::Graph load_graph_alone(const GraphRequest& request, const std::string& command) {
  try {
    return load_graph(request);
  } catch (const UserError&) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(request.path, error)) throw;  // a pipe can be read only once
    const std::string text = read_source(request.path);
    if (!is_job(text)) throw;
    std::vector<std::string> notes;
    try {
      std::vector<Diagnostic> problems;
      const LoadedJob job = read_job(text, request.path, {}, problems);
      notes.push_back("help: its graph: " + command_for_graph(job, command));
    } catch (const UserError&) {  // its graph is unknown
      notes.push_back("help: name the graph in its field 'graph'");
    }
    throw UserError(ExitCode::kInvalidGraph, "E0222 no-graph",
                    fmt::format("'{}' is a job; {} takes a graph", request.path, command), std::move(notes));
  }
}

std::string graph_summary(const ir::Graph& graph) {
  const auto typed = [&](ir::ValueId value) { return fmt::format("{}: {}", graph.value(value).name, graph.type(value).str()); };
  std::vector<std::string> inputs, outputs, parameters, states;
  for (const ir::Input& input : graph.inputs) inputs.push_back(typed(input.value));
  for (const ir::Output& output : graph.outputs) {
    outputs.push_back(fmt::format("{}: {}", output.name, graph.type(output.value).str()));
  }
  for (const ir::Variable& variable : graph.variables) {
    (variable.kind == ir::Variable::Kind::kParameter ? parameters : states).push_back(typed(variable.value));
  }
  return lines_of("inputs", inputs) + lines_of("outputs", outputs) + lines_of("states", states) +
         lines_of(fmt::format("parameters ({} numbers)", graph.parameter_count()), parameters);
}

std::string validate_graph(const std::string& path, const std::vector<GraphRequest::Setting>& settings,
                           std::vector<Diagnostic>& warnings) {
  GraphRequest request;
  request.path = path;
  request.bindings = settings;
  const std::string summary = graph_summary(load_graph(request, &warnings));
  request.training = false;
  load_graph(request);
  return summary;
}

namespace {

// Diagnostics with equal text are the same.
std::string identity(const Diagnostic& d) { return d.code + d.at.str() + d.text; }

// Collects the mistakes of several checks, each once, and the exit code.
class Findings {
 public:
  template <class Look>
  void gather(const Look& look) {
    try {
      look();
    } catch (const UserError& error) {
      if (all_.empty()) exit_code_ = error.exit_code();
      add(error.diagnostics());
    }
  }
  void add(const std::vector<Diagnostic>& diagnostics) {
    for (const Diagnostic& d : diagnostics)
      if (seen_.insert(identity(d)).second) all_.push_back(d);
  }
  bool none() const { return all_.empty(); }
  [[noreturn]] void tell(const std::vector<Diagnostic>& warnings) {
    add(warnings);
    throw UserError(exit_code_, std::move(all_));
  }

 private:
  std::vector<Diagnostic> all_;
  std::set<std::string> seen_;
  ExitCode exit_code_ = ExitCode::kInvalidGraph;
};

// Checks the graph of a job, which may have mistakes; `warnings` are only those of a valid job.
std::string validate_network(LoadedJob job, Findings& findings, std::vector<Diagnostic>& warnings) {
  const bool trains = job.message.has_train();
  std::erase_if(job.infer, [](const InferSpec& mode) { return !mode.sound; });
  std::vector<Diagnostic> of_report, of_graph, of_feeds;
  const bool sound = findings.none();
  std::optional<ReadExamples> training;
  const Network network = build_network(std::move(job), of_report, trains ? &training : nullptr);
  findings.add(of_report);
  const ir::Graph graph = network.graph(true, &of_graph);
  warnings.insert(warnings.end(), of_graph.begin(), of_graph.end());
  const ir::Graph inference = network.graph(false);
  findings.gather([&] { check_network(graph, inference, network, of_feeds); });
  if (sound) warnings.insert(warnings.end(), of_feeds.begin(), of_feeds.end());
  if (!findings.none()) return "";
  const Evaluator evaluator(inference, network);
  std::vector<std::string> beginnings, rates, read;
  if (trains) {
    const Recipe recipe = make_recipe(network.job);
    Stepper stepper(graph, recipe, *network.job.plan, cpu_device(), warnings);
    const BeginNotes notes = begin_parameters(recipe, network, stepper, warnings);
    beginnings = stepper.beginnings();
    rates = stepper.rates();
    beginnings.insert(beginnings.end(), notes.log.begin(), notes.log.end());
    const TrainingData data(network, stepper.feeds(), read_sets(network, std::move(training)));
    read.push_back(data.summary());
    if (const auto warning = data.too_many_validations(recipe.validate)) warnings.push_back(*warning);
  }
  std::vector<std::string> vocabularies;
  for (const auto& [field, vocabulary] : network.vocabularies)
    vocabularies.push_back(fmt::format("{}: {}", field, vocabulary.size()));
  return fmt::format("graph: {}\n", network.job.message.graph()) + lines_of("data", read) +
         lines_of("vocabularies", vocabularies) + graph_summary(graph) + lines_of("initialize", beginnings) +
         lines_of("learning rate", rates);
}

// Whether the error is that a file cannot be opened, which unreadable_files reports for all files.
bool unreadable(const UserError& error) { return error.diagnostics().front().code.starts_with("E0540"); }

}  // namespace

std::string validate_job(std::string_view text, const std::string& path, const std::vector<std::string>& settings,
                         std::vector<Diagnostic>& warnings) {
  Findings findings;
  std::vector<Diagnostic> of_job;
  LoadedJob job = read_job(text, path, settings, of_job);
  warnings = std::move(job.warnings);
  const bool trains = job.message.has_train();
  if (trains && job.as_set) check_training(job, of_job);
  findings.add(of_job);
  const std::vector<Diagnostic> closed = unreadable_files(job);
  std::string summary;
  if (job.has_graph && !(trains && job.data.train.empty())) {
    findings.gather([&] {
      try {
        summary = validate_network(std::move(job), findings, warnings);
      } catch (const UserError& error) {
        if (closed.empty() || !unreadable(error)) throw;
      }
    });
  }
  if (!closed.empty()) findings.gather([&] { throw UserError(ExitCode::kBadData, closed); });
  if (!findings.none()) findings.tell(warnings);
  return summary;
}

std::vector<Diagnostic> with_all_mistakes(std::vector<Diagnostic> mistakes, std::string_view text, const std::string& path,
                                          const std::vector<std::string>& settings) {
  std::vector<Diagnostic> found;
  try {
    std::vector<Diagnostic> warnings;
    validate_job(text, path, settings, warnings);
  } catch (const UserError& error) {
    found = error.diagnostics();
  } catch (const std::exception&) {
    return mistakes;  // which may be the cause
  }
  std::set<std::string> seen;
  for (const Diagnostic& d : found) seen.insert(identity(d));
  std::erase_if(mistakes, [&](const Diagnostic& d) { return seen.count(identity(d)) != 0; });
  mistakes.insert(mistakes.end(), found.begin(), found.end());
  return mistakes;
}

}  // namespace graphrun
