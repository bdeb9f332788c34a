#include "tools/validate/validate.h"

#include <fmt/format.h>

#include "compiler/frontend/source.h"
#include "tools/job/data_files.h"
#include "tools/model/evaluator.h"
#include "tools/model/model_folder.h"
#include "tools/model/network_check.h"
#include "tools/train/stepper.h"

namespace graphrun {
namespace {

std::string lines_of(std::string_view title, const std::vector<std::string>& entries) {
  if (entries.empty()) return "";
  std::string text = fmt::format("{}:\n", title);
  for (const std::string& entry : entries) text += "  " + entry + "\n";
  return text;
}

// Whether a line of the text begins with this field, as a message or a value.
bool has_field(std::string_view text, std::string_view field) {
  for (std::size_t at = text.find(field); at != std::string_view::npos; at = text.find(field, at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1;  // 0 where there is none before
    const std::size_t after = text.find_first_not_of(" \t", at + field.size());
    const bool first = text.substr(line, at - line).find_first_not_of(" \t") == std::string_view::npos;
    if (first && after != std::string_view::npos && (text[after] == '{' || text[after] == ':')) return true;
  }
  return false;
}

}  // namespace

bool is_job(std::string_view text) {
  const std::string declared = declared_message(text);
  if (!declared.empty()) return declared == "graphrun.Job";
  return has_field(text, "data") || has_field(text, "train") || has_field(text, "infer");
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

std::string validate_graph(const std::string& path, const std::vector<GraphRequest::Binding>& settings,
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

std::string validate_network(LoadedJob job, std::vector<Diagnostic>& warnings) {
  const bool trains = job.message.has_train();
  warnings = std::move(job.warnings);
  const Network network = build_network(std::move(job));
  std::vector<Diagnostic> of_graph;
  const ir::Graph graph = network.graph(true, &of_graph);
  warnings.insert(warnings.end(), of_graph.begin(), of_graph.end());
  const ir::Graph inference = network.graph(false);
  check_network(graph, inference, network);
  const Evaluator evaluator(inference, network);
  if (trains) const Stepper stepper(graph, make_recipe(network.job), *network.job.plan, Device::kCpu, warnings);
  std::vector<std::string> vocabularies;
  for (const auto& [field, vocabulary] : network.vocabularies)
    vocabularies.push_back(fmt::format("{}: {}", field, vocabulary.size()));
  return fmt::format("graph: {}\n", network.job.message.graph()) + lines_of("vocabularies", vocabularies) +
         graph_summary(graph);
}

}  // namespace

std::string validate_job(const std::string& path, const std::vector<std::string>& settings, std::vector<Diagnostic>& warnings) {
  LoadedJob job = load_job(path, settings);
  if (job.message.has_train()) require_training(job);
  std::vector<Diagnostic> unreadable = unreadable_files(job);
  std::string summary;
  try {
    summary = validate_network(std::move(job), warnings);
  } catch (const UserError& error) {
    if (unreadable.empty()) throw;
    // A training file among them is found missing once more, as what is read line by line.
    const bool again = error.diagnostics().front().code.starts_with("E0540");
    if (!again) {
      std::vector<Diagnostic> all = error.diagnostics();
      all.insert(all.end(), unreadable.begin(), unreadable.end());
      throw UserError(error.exit_code(), std::move(all));
    }
  }
  if (!unreadable.empty()) throw UserError(ExitCode::kBadData, std::move(unreadable));
  return summary;
}

}  // namespace graphrun
