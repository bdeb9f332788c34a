// graphrun average MODEL MODEL … --out DIR
#include <fmt/format.h>

#include <filesystem>

#include "compiler/ir/printer.h"
#include "runtime/checkpoint.h"
#include "runtime/file.h"
#include "tools/commands/command_line.h"
#include "tools/model/mean.h"
#include "tools/model/model_folder.h"
#include "tools/train/run_folder.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestRecord = std::uint64_t{1} << 24;  // bytes of data.json

// Numbers of symbols stand for the same ones in both.
void check_vocabularies(const Network& first, const Network& other, const std::string& name, const std::string& other_name) {
  for (const auto& [field, vocabulary] : first.vocabularies) {
    const auto theirs = other.vocabularies.find(field);
    if (theirs != other.vocabularies.end() && theirs->second.entries() == vocabulary.entries()) continue;
    throw UserError(ExitCode::kBadData, "E0668 unlike-models",
                    fmt::format("'{}' has no mean with '{}': the vocabulary of '{}' is another", other_name, name, field));
  }
}

}  // namespace

ExitCode run_average(const Arguments& arguments) {
  po::options_description group("averaging", 100);
  group.add_options()("out", po::value<std::string>()->value_name("DIR"), "the folder for the mean; one with a run is refused");
  CommandLine line;
  line.usage = "graphrun average MODEL MODEL ... --out DIR [option ...]";
  line.about =
      "Makes a model whose parameters are the mean of those of several models of one network with the same vocabularies:\n"
      "runs from other seeds that began alike, or copies of one run's folder at several times. The job's\n"
      "train { average { … } } does the same with one run's validations.";
  line.words = {{"MODEL", true, true}};
  line.groups.push_back(group);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const auto models = option<std::vector<std::string>>(*options, "MODEL");
  const std::string out = option<std::string>(*options, "out");
  if (out.empty()) throw UsageError("--out DIR is missing: where the mean goes");
  if (models.size() < 2) throw UsageError("a mean is of two models at least");
  const ModelLayout first{models.front()};
  const Network network = read_network(first);
  Mean mean;
  for (const std::string& model : models) {
    const ModelLayout layout{model};
    check_vocabularies(network, read_network(layout), models.front(), model);
    mean.add(read_parameters(layout).tensors, model);
  }
  std::vector<SourceFile> graphs;
  const ir::Graph graph = load_graph(network.request(true), nullptr, &graphs);
  const std::string data = std::filesystem::exists(first.data()) ? read_file(first.data(), kLargestRecord) : "{}\n";
  const RunFolder folder(out, RunFolder::Begin::kNew);
  write_model(folder.layout(), dump_job(network.job, true), graphs, network.vocabularies, data, ir::print(graph, {false}));
  Checkpoint best;
  best.groups["parameters"] = mean.result();
  save_checkpoint(checkpoint_folder(out, 0, "best"), best);
  if (options->count("quiet") == 0) fmt::print(stderr, "the mean of {} models is in '{}'\n", mean.count(), out);
  return ExitCode::kDone;
}

}  // namespace graphrun
