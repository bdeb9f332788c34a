// Every graph that the documentation shows loads.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/compile.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GRAPHRUN_SOURCE_DIR;

std::vector<std::string> shown_graphs(const fs::path& page) {
  std::ifstream in(page);
  std::vector<std::string> out;
  std::string block;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("```", 0) == 0) {
      if (inside && block.find("proto-message: graphrun.Graph") != std::string::npos) out.push_back(block);
      inside = !inside;
      block.clear();
    } else if (inside) {
      block += line + "\n";
    }
  }
  return out;
}

TEST(Documentation, ShowsGraphsThatLoad) {
  const std::vector<std::string> graphs = shown_graphs(kRoot / "graphs/README.md");
  ASSERT_GE(graphs.size(), 2u);
  const fs::path file = fs::temp_directory_path() /
                        ("graphrun_shown_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + ".pbtxt");
  for (const std::string& text : graphs) {
    std::ofstream(file) << text;
    GraphRequest request;
    request.path = file.string();
    request.graphs_root = (kRoot / "graphs").string();
    const std::size_t set = text.find("# set:");
    ASSERT_NE(set, std::string::npos);
    std::istringstream words(text.substr(set + 6, text.find('\n', set) - set - 6));
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      request.bindings.push_back({word.substr(0, equals), word.substr(equals + 1), {}});
    }
    try {
      EXPECT_GT(load_graph(request).parameter_count(), 0);
    } catch (const UserError& e) {
      ADD_FAILURE() << e.what();
    }
  }
  fs::remove(file);
}

}  // namespace
}  // namespace graphrun
