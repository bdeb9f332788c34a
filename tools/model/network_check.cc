#include "tools/model/network_check.h"

#include <fmt/format.h>

#include "tools/job/problems.h"
#include "tools/model/evaluator.h"
#include "tools/model/expression.h"
#include "tools/model/inference.h"

namespace graphrun {
namespace {

// A setting of `train` that is a scalar of the graph: an output, or an expression.
void check_scalar(ir::Graph graph, const LoadedJob& job, const char* field, bool floats_alone, std::vector<Diagnostic>& found) {
  const ir::SourceText text = inside(job.places, "train").text(field);
  if (text.text.empty()) return;
  const ir::Output* const output = graph.output(text.text);
  const ir::ValueId value = output != nullptr
                                ? output->value
                                : add_expression(graph, text, std::string("train.") + field,
                                                 {.field = field, .code = "E0401 bad-objective", .inputs = true}, found);
  if (value == ir::kNone) return;
  const ir::TensorType& type = graph.type(value);
  const bool number = floats_alone ? type.type == Type::kFloat : type.type != Type::kBool;
  if (number && type.shape.empty()) return;
  Problems(found).add(
      "E0401 bad-objective", inside(job.places, "train").location(field),
      fmt::format("'{}' is {}; what {} is a {} scalar", text.text, type.str(),
                  floats_alone ? "is minimized" : "divides a gradient", floats_alone ? "FLOAT" : "FLOAT or INT32"),
      "sum(x) or mean(x) makes a scalar");
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
    check_scalar(training, job, "minimize", true, found);
    check_scalar(training, job, "per", false, found);
    check_states(training, job, problems);
  }
  network.report->check_names(available(inference, *job.plan), found);
  try {
    check_infer(inference, network);
  } catch (const UserError& error) {
    found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
  }
  if (!found.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(found));
}

}  // namespace graphrun
