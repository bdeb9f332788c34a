// One file for each mistake in a graph, NAME.pbtxt under tests/errors/, and the expected message, NAME.txt. For something that
// is only suspicious, the message is a warning, and the graph loads. A line "# set: a=1 b=2" in the file gives args.
// tests/tools/mistakes_test.cc reads the mistakes in jobs, data and models, which are in subfolders. GRAPHRUN_UPDATE=1 in the
// environment rewrites the messages; read them before you commit them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/compile.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(tests::source_folder()) / "tests/errors";

std::string contents(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

std::string without(std::string text, const std::string& part) {
  for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

class Mistake : public ::testing::TestWithParam<std::string> {};

TEST_P(Mistake, GetsItsMessage) {
  const fs::path file = kFolder / (GetParam() + ".pbtxt"), expected = kFolder / (GetParam() + ".txt");
  GraphRequest request;
  request.path = file.string();
  request.graphs_root = (fs::path(tests::source_folder()) / "graphs").string();
  const std::string text = contents(file);
  if (const std::size_t set = text.find("# set:"); set != std::string::npos) {
    std::istringstream words(text.substr(set + 6, text.find('\n', set) - set - 6));
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      request.bindings.push_back({word.substr(0, equals), word.substr(equals + 1), {}});
    }
  }
  std::string found;
  try {
    std::vector<Diagnostic> warnings;
    load_graph(request, &warnings);
    found = render(warnings);
  } catch (const UserError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::kInvalidGraph);
    found = e.what();
  }
  ASSERT_NE(found, "") << "no mistake was found";
  found = without(without(found + "\n", kFolder.string() + "/"), tests::source_folder() + "/");
  if (std::getenv("GRAPHRUN_UPDATE")) std::ofstream(expected) << found;
  EXPECT_EQ(found, contents(expected));
}

std::vector<std::string> mistakes() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".pbtxt") out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

INSTANTIATE_TEST_SUITE_P(Errors, Mistake, ::testing::ValuesIn(mistakes()), [](const auto& i) { return i.param; });

}  // namespace
}  // namespace graphrun
