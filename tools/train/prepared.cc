#include "tools/train/prepared.h"

#include <fmt/format.h>

#include "runtime/base/processor.h"
#include "runtime/threads/threads.h"
#include "tools/cli/program.h"
#include "tools/job/data_files.h"
#include "tools/job/defaults.h"
#include "tools/model/network_check.h"

namespace graphrun {
namespace {

// The device and precision of training.
std::string name_of_device(const Device& device, const Job& job) {
  const std::string precision = Job::ProductPrecision_Name(job.product_precision());
  std::string name, why_not;
  if (device.is_cpu()) {
    name = "cpu, " + counted(threads(), "thread");
    if (job.product_precision() == Job::TF32) why_not = "TF32 is for GPUs";
    if (job.product_precision() == Job::BFLOAT16 && !multiplies_bfloat16()) why_not = "it has no instructions for BFLOAT16";
  } else {
    name = "cuda, " + device.name();
    if (!device.backend().limits().matrix_units) why_not = "it has no matrix units for " + precision;
  }
  if (job.product_precision() == Job::FLOAT32) return name;
  return name + (why_not.empty() ? ", products in " + precision : ", products in float32, since " + why_not);
}

}  // namespace

Network new_network(LoadedJob job, std::optional<ReadExamples>& training) {
  std::vector<Diagnostic> unreadable = unreadable_files(job);
  if (!unreadable.empty()) throw UserError(ExitCode::kBadData, std::move(unreadable));
  fill_defaults(job.message);
  return build_network(std::move(job), &training);
}

NetworkGraphs load_graphs(const Network& network, std::vector<Diagnostic>& warnings) {
  const double begun = seconds_now();
  NetworkGraphs graphs;
  std::vector<Diagnostic> of_graph;
  graphs.training = network.graph(true, &of_graph, &graphs.sources);
  warnings.insert(warnings.end(), of_graph.begin(), of_graph.end());
  graphs.inference = network.graph(false);
  check_network(graphs.training, graphs.inference, network, warnings);
  graphs.seconds = seconds_now() - begun;
  return graphs;
}

Prepared::Prepared(Network made, NetworkGraphs read, const Device& where, std::vector<Diagnostic>& warnings)
    : Prepared(std::move(made), std::move(read), where, warnings, seconds_now()) {}

Prepared::Prepared(Network made, NetworkGraphs read, const Device& where, std::vector<Diagnostic>& warnings, double begun)
    : network(std::move(made)),
      recipe(make_recipe(network.job)),
      device(where),
      graphs(std::move(read)),
      stepper(graphs.training, recipe, *network.job.plan, target(), warnings),
      evaluator(graphs.inference, network, device),
      seconds(graphs.seconds + seconds_now() - begun) {}

UserError with_warnings(const UserError& error, const std::vector<Diagnostic>& warnings) {
  std::vector<Diagnostic> all = error.diagnostics();
  all.insert(all.end(), warnings.begin(), warnings.end());
  return {error.exit_code(), std::move(all)};
}

void describe(ProgressDisplay& display, const Prepared& prepared, const TrainingData& data) {
  const Network& network = prepared.network;
  std::string vocabularies;
  for (const auto& [field, vocabulary] : network.vocabularies) {
    vocabularies += fmt::format("{}{} {}", vocabularies.empty() ? "" : ", ", field, vocabulary.size());
  }
  display.log(fmt::format("graphrun {}: {}, graph {}", version(), network.job.path, network.job.message.graph()));
  display.log("data: " + data.summary());
  if (!vocabularies.empty()) display.log("vocabularies: " + vocabularies);
  display.log(fmt::format("parameters: {} numbers, seed {}", prepared.stepper.parameter_count(), prepared.recipe.seed));
  display.log(
      fmt::format("device: {}; compiled in {:.2f} s", name_of_device(prepared.device, network.job.message), prepared.seconds));
}

}  // namespace graphrun
