#include "tools/model/network_check.h"

#include <fmt/format.h>

#include "tools/job/problems.h"
#include "tools/model/evaluator.h"
#include "tools/model/inference.h"

namespace graphrun {
namespace {

void check_minimized(const ir::Graph& graph, const LoadedJob& job, Problems& problems) {
  const std::string& name = job.message.train().minimize();
  const Location at = inside(job.places, "train").location("minimize");
  const ir::Output* const output = graph.output(name);
  if (output == nullptr) {
    std::vector<std::string> known;
    for (const ir::Output& o : graph.outputs) known.push_back(o.name);
    problems.add("E0401 bad-objective", at, fmt::format("graph '{}' has no output '{}'", graph.name, name),
                 did_you_mean(name, known));
  } else if (const ir::TensorType& type = graph.type(output->value); type.type != Type::kFloat || !type.shape.empty()) {
    problems.add("E0401 bad-objective", at, fmt::format("'{}' is {}; what is minimized is a FLOAT scalar", name, type.str()),
                 "sum(x) or mean(x) makes a scalar");
  }
}

void check_states(const ir::Graph& graph, const LoadedJob& job, Problems& problems) {
  if (job.data.format == Format::kStream) return;
  std::string states;
  for (const ir::Variable& variable : graph.variables) {
    if (variable.kind == ir::Variable::Kind::kState) states += (states.empty() ? "" : ", ") + graph.value(variable.value).name;
  }
  if (states.empty()) return;
  problems.add("E0426 states-without-stream", job.places.location("graph"),
               fmt::format("the states of the graph ({}) live from batch to batch, but the data is no STREAM", states),
               "in a graph that calls this one, begin: … says where they come from");
}

}  // namespace

void check_network(const ir::Graph& training, const ir::Graph& inference, const Network& network) {
  const LoadedJob& job = network.job;
  std::vector<Diagnostic> found;
  Problems problems(found);
  if (job.message.has_train()) {
    check_minimized(training, job, problems);
    check_states(training, job, problems);
  }
  network.report->check_names(available(inference, *job.plan), found);
  try {
    check_infer(inference, job);
  } catch (const UserError& error) {
    found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
  }
  if (!found.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(found));
}

}  // namespace graphrun
