// Every job that is shipped, down to its compiled training step, whether its data is here or not.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tools/scratch.h"
#include "tools/model/inference.h"
#include "tools/model/model_folder.h"
#include "tools/train/stepper.h"

namespace graphrun {
namespace {

// A few entries for each field.
Vocabularies small_vocabularies(const DataSpec& data) {
  Vocabularies vocabularies;
  for (const FieldSpec& field : data.fields) {
    std::vector<std::string> entries = field.vocabulary.special;
    if (!field.vocabulary.closed) entries.emplace_back(kUnknown);
    for (const char* entry : {"B", "M", "E", "S", "<s>", "</s>"}) entries.emplace_back(entry);
    vocabularies.emplace(field.name, Vocabulary(entries, field.vocabulary.closed, field.name));
  }
  return vocabularies;
}

void check(const std::string& path) {
  Network network;
  network.job = load_job(path);
  network.graphs_root = std::string(GRAPHRUN_SOURCE_DIR) + "/graphs";
  network.vocabularies = small_vocabularies(network.job.data);
  network.job.plan->bind(network.vocabularies);
  require_training(network.job);
  std::vector<Diagnostic> warnings = std::move(network.job.warnings);
  check_infer(load_graph(network.request(false)), network);
  const ir::Graph graph = load_graph(network.request(true));
  const Stepper stepper(graph, make_recipe(network.job), *network.job.plan, Device::kCpu, warnings);
  EXPECT_GT(stepper.parameter_count(), 0);
  EXPECT_TRUE(warnings.empty()) << render(warnings, false);
}

TEST(ShippedJobs, LoadCheckAndCompile) {
  int jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(GRAPHRUN_SOURCE_DIR) + "/graphs/jobs")) {
    if (entry.path().extension() != ".pbtxt") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++jobs;
    EXPECT_EQ(message_of([&] { check(entry.path().string()); }), "");
  }
  EXPECT_GE(jobs, 8);
}

}  // namespace
}  // namespace graphrun
