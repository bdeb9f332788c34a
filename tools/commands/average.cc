// graphrun average MODEL MODEL … --out DIR
#include <fmt/format.h>

#include <filesystem>

#include "compiler/ir/printer.h"
#include "runtime/base/file.h"
#include "runtime/tensor/checkpoint.h"
#include "tools/commands/command_line.h"
#include "tools/model/mean.h"
#include "tools/model/model_folder.h"
#include "tools/run/run_folder.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestRecord = std::uint64_t{1} << 24;  // bytes of data.json

[[noreturn]] void unlike(const std::string& other, const std::string& name, const std::string& why) {
  throw UserError(ExitCode::kBadData, "E0668 unlike-models",
                  fmt::format("'{}' cannot be averaged with '{}': {}", other, name, why));
}

// Checks that numbers mean the same symbols in both models.
void check_vocabularies(const Network& first, const Network& other, const std::string& name, const std::string& other_name) {
  for (const auto& [field, vocabulary] : first.vocabularies) {
    const auto theirs = other.vocabularies.find(field);
    if (theirs != other.vocabularies.end() && theirs->second.entries() == vocabulary.entries()) continue;
    unlike(other_name, name, fmt::format("the vocabulary of '{}' differs", field));
  }
}

// Whether a run's parameters began as draws from its seed, not as another model.
bool drew_its_beginning(const Network& network) { return network.job.message.train().start_size() == 0; }

// Networks that began from different seeds have units with different meanings.
void warn_of_other_beginnings(const Network& first, const Network& other, const std::string& name,
                              const std::string& other_name) {
  const std::uint64_t seed = first.job.message.train().seed(), other_seed = other.job.message.train().seed();
  if (seed == other_seed || (!drew_its_beginning(first) && !drew_its_beginning(other))) return;
  Diagnostic d{Severity::kWarning,
               "E0672 other-beginnings",
               {},
               fmt::format("'{}' was initialized from seed {}, '{}' from seed {}: the mean of such runs is hardly ever useful",
                           name, seed, other_name, other_seed),
               {"help: runs that start from the same model can be averaged: train { start { model: … } } in each"}};
  fmt::print(stderr, "{}\n", render(d, color_on_stderr()));
}

}  // namespace

ExitCode run_average(const Arguments& arguments) {
  po::options_description group("averaging", 100);
  group.add_options()("out", po::value<std::string>()->value_name("DIR"),
                      "the folder for the mean; a folder that contains a run is refused");
  CommandLine line;
  line.usage = "graphrun average MODEL MODEL ... --out DIR [option ...]";
  line.about =
      "Writes a model whose parameters are the mean of those of several models of one network with the same vocabularies:\n"
      "of runs that began from the same parameters, or of copies of one run's folder at several times. The job's\n"
      "train { average { … } } does the same with one run's validations.";
  line.examples = {"graphrun average runs/1 runs/2 runs/3 --out mean"};
  line.words = {{"MODEL", true, true}};
  line.groups.push_back(group);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const auto models = option<std::vector<std::string>>(*options, "MODEL");
  const std::string out = option<std::string>(*options, "out");
  if (out.empty()) throw UsageError("--out DIR is missing: where the mean goes");
  if (models.size() < 2) throw UsageError("an average needs at least two models");
  const ModelLayout first{models.front()};
  const Network network = read_network(first);
  Mean mean;
  GraphSources graphs;
  const ir::Graph trained = load_graph(network.request(true), nullptr, &graphs);
  const auto used = [](const Network& n) {  // dropout may differ, and so may the source of initializers
    ir::Graph graph = load_graph(n.request(false));
    for (ir::Variable& variable : graph.variables) variable.init.declared = false;
    return ir::print(graph, {false});
  };
  const std::string graph = used(network);
  for (const std::string& model : models) {
    const ModelLayout layout{model};
    const Network other = read_network(layout);
    check_vocabularies(network, other, models.front(), model);
    mean.add(read_parameters(layout).tensors, model);
    if (used(other) != graph) unlike(model, models.front(), "its graph differs");
    warn_of_other_beginnings(network, other, models.front(), model);
  }
  const std::string data = is_there(first.data()) ? read_file(first.data(), kLargestRecord) : "{}\n";
  const RunFolder folder(out, RunFolder::Begin::kMade);
  write_model(folder.layout(), network.job, graphs, network.vocabularies, data, ir::print(trained, {false}));
  Checkpoint best;
  best.groups["parameters"] = mean.result();
  save_checkpoint(checkpoint_folder(out, 0, "best"), best);
  if (options->count("quiet") == 0) fmt::print(stderr, "the mean of {} models is in '{}'\n", mean.count(), out);
  return ExitCode::kDone;
}

}  // namespace graphrun
