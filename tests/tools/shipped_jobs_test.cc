// Every shipped job, up to its compiled training step, whether or not its data is available.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "compiler/compile.h"
#include "tests/folders.h"
#include "tests/tools/scratch.h"
#include "tools/model/evaluator.h"
#include "tools/model/inference.h"
#include "tools/model/model_folder.h"
#include "tools/model/network_check.h"
#include "tools/train/initializers.h"
#include "tools/train/objective.h"

namespace graphrun {
namespace {

const std::string kJobs = tests::source_folder() + "/graphs/jobs";

// A few entries for each field.
Vocabularies small_vocabularies(const DataSpec& data) {
  Vocabularies vocabularies;
  for (const FieldSpec& field : data.fields) {
    std::vector<std::string> entries = field.vocabulary.special;
    if (!field.vocabulary.closed) entries.emplace_back(kUnknown);
    for (const char* entry : {"B", "M", "E", "S", "<s>", "</s>", "<eos>"}) entries.emplace_back(entry);
    vocabularies.emplace(field.name, Vocabulary(entries, field.vocabulary.closed, field.name));
  }
  return vocabularies;
}

void check(const std::string& path) {
  Network network;
  network.job = load_job(path);
  network.graphs_root = tests::source_folder() + "/graphs";
  network.vocabularies = small_vocabularies(network.job.data);
  network.job.plan->bind(network.vocabularies);
  std::vector<Diagnostic> warnings = std::move(network.job.warnings);
  std::vector<Diagnostic> said;  // the messages from loading the job
  network.report = std::make_unique<Report>(network.job.report, said);
  const ir::Graph inference = load_graph(network.request(false));
  if (!network.job.load.empty()) {  // the models are not available
    check_infer(inference, network);
    EXPECT_TRUE(warnings.empty()) << render(warnings, false);
    return;
  }
  require_training(network.job);
  const Recipe recipe = make_recipe(network.job);
  TrainOptions options = recipe.options;
  const ir::Graph training = load_graph(network.request(true));
  check_network(training, inference, network, warnings);
  const ir::Graph graph = with_objective(training, recipe, options, warnings);
  CompileOptions fetched;
  fetched.fetches = {options.minimize};
  const bool whole = recipe.accumulate == 1;
  if (!whole) options.part = TrainOptions::Part::kGradients;
  // Compiled only: the parameters, hundreds of millions of numbers in some jobs, are not allocated.
  Program program = compile(graph, fetched, &options);
  apply_initializers(recipe.initialize, program, warnings);
  need_feeds(program, *network.job.plan);
  if (!whole) {
    options.part = TrainOptions::Part::kUpdate;
    fetched.fetches = {kGradientNorm};
    compile(graph, fetched, &options);
  }
  EXPECT_GT(graph.parameter_count(), 0);
  EXPECT_TRUE(warnings.empty()) << render(warnings, false);
}

std::vector<std::string> shipped() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kJobs))
    if (entry.path().extension() == ".pbtxt") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class ShippedJob : public testing::TestWithParam<std::string> {};

TEST_P(ShippedJob, LoadsChecksAndCompiles) {
  EXPECT_EQ(message_of([&] { check(kJobs + "/" + GetParam() + ".pbtxt"); }), "");
}

INSTANTIATE_TEST_SUITE_P(All, ShippedJob, testing::ValuesIn(shipped()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace graphrun
