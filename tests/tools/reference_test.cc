// The reference programs compute from the fixtures the results that are committed next to them.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/folders.h"

namespace graphrun {
namespace {

std::string output_of(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  char block[4096];
  while (pipe && std::fgets(block, sizeof block, pipe.get())) text += block;
  return text;
}

TEST(Reference, ProgramsGiveTheCommittedFigures) {
  if (output_of("command -v python3").empty()) GTEST_SKIP() << "no python3";
  std::ifstream in(tests::reference("expected.json"));
  const auto expected = nlohmann::json::parse(in);
  for (const auto& [name, figures] : expected.items()) {
    const bool words = name == "segmented" || name == "words";
    const std::string program = words ? "sighan_score.py" : "conlleval.py";
    const std::string list = name == "words" ? " words_known.txt" : "";
    const std::string files = words ? name + "_gold.txt " + name + "_predicted.txt" + list : name + ".txt";
    const std::string text = output_of("cd '" + tests::reference("") + "' && python3 -B " + program + " " + files);
    EXPECT_EQ(nlohmann::json::parse(text, nullptr, false), figures) << name << ": " << text;
  }
}

}  // namespace
}  // namespace graphrun
