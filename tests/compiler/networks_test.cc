// Every network of the papers against values that an independent reading of the language in numpy gave (the fixtures): same
// files, parameters and feeds, float64.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/compile.h"
#include "runtime/executable.h"
#include "runtime/safetensors.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GRAPHRUN_SOURCE_DIR;

const fs::path kFixtures = kRoot / "tests/fixtures/networks";

// name -> { "graph": path, "args": { name: expression }, "training": label smoothing counts (there is no dropout then) }
nlohmann::json index() {
  std::ifstream in(kFixtures / "index.json");
  return nlohmann::json::parse(in);
}

class Network : public ::testing::TestWithParam<std::string> {};

TEST_P(Network, ComputesWhatTheReferenceComputes) {
  const NamedTensors tensors = read_safetensors((kFixtures / (GetParam() + ".safetensors")).string());
  const nlohmann::json entry = index().at(GetParam());
  GraphRequest request;
  request.path = entry.at("graph");
  request.from_graphs = true;
  request.graphs_root = (kRoot / "graphs").string();
  request.training = entry.at("training");
  for (const auto& [name, value] : entry.at("args").items()) {
    request.bindings.push_back({name, value.get<std::string>(), {}});
  }
  const ir::Graph graph = load_graph(request);

  CompileOptions options;
  options.precision = Precision::kFloat64;
  std::vector<Tensor> expected;
  auto variables = std::make_shared<Variables>();
  Feeds all;
  for (const auto& [name, tensor] : tensors) {
    const std::string rest = name.substr(name.find('/') + 1);
    if (name.rfind("feed/", 0) == 0) all[rest] = tensor;
    if (name.rfind("parameter/", 0) == 0) variables->set(rest, tensor);
    if (name.rfind("output/", 0) == 0) {
      options.fetches.push_back(rest);
      expected.push_back(tensor);
    }
  }
  Executable executable(compile(graph, options), variables);
  Feeds feeds;
  for (const FeedSpec& f : executable.program().feeds) feeds[f.name] = all.at(f.name);
  const std::vector<Tensor> found = executable.run(feeds);
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_FALSE(found.empty());
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(found[k].sizes(), expected[k].sizes()) << options.fetches[k];
    for (std::int64_t i = 0; i < found[k].count(); ++i) {
      ASSERT_NEAR(found[k].at(i), expected[k].at(i), 1e-9 * (1 + std::abs(expected[k].at(i))))
          << options.fetches[k] << " at " << i;
    }
  }
}

std::vector<std::string> fixtures() {
  std::vector<std::string> out;
  const nlohmann::json all = index();
  for (const auto& [name, entry] : all.items()) out.push_back(name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Papers, Network, ::testing::ValuesIn(fixtures()), [](const auto& i) { return i.param; });

}  // namespace
}  // namespace graphrun
