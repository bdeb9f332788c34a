// The record of a run: how it was started, what it is made of, and checkpoints that belong to it.
#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/program_fixture.h"
#include "tools/run/start_record.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class RunRecord : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
  Ran train(const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", "graphs/jobs/segment.pbtxt", "--out", out, "--set", "train.epochs=1"};
    words.insert(words.end(), more.begin(), more.end());
    return graphrun(words);
  }
};

TEST_F(RunRecord, EachStartIsWrittenDown) {
  ASSERT_EQ(train("model", {"--threads", "1"}).code, 0);
  write("model/starts.jsonl", read("model/starts.jsonl") + "{\"cut off");
  ASSERT_EQ(train("model", {"--resume", "--set", "train.epochs=2"}).code, 0);
  std::istringstream lines(read("model/starts.jsonl"));
  std::vector<nlohmann::json> starts;
  for (std::string line; std::getline(lines, line);) starts.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_THAT(starts[0]["command"].get<std::vector<std::string>>(),
              ElementsAre("graphrun", "train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1",
                          "--threads", "1"));
  EXPECT_EQ(starts[0]["step"], 0);
  EXPECT_EQ(starts[1]["step"], 5);
  EXPECT_EQ(starts[0]["processes"], 1);
  EXPECT_EQ(starts[0]["threads"], 1);
  EXPECT_EQ(starts[0]["device"], "cpu");
  EXPECT_EQ(starts[0]["folder"], std::filesystem::canonical(root_).string());
  for (const char* known : {"time", "version", "compiler", "flags", "processor", "machine"}) {
    EXPECT_FALSE(starts[0][known].get<std::string>().empty()) << known;
  }
  const std::string program = starts[0]["program"], library = starts[0]["library"];
  EXPECT_THAT(graphrun({"--version"}).out,
              AllOf(HasSubstr(starts[0]["version"].get<std::string>()), HasSubstr(starts[0]["compiler"].get<std::string>()),
                    HasSubstr("build " + program), HasSubstr("library " + library)));
  EXPECT_THAT(program, MatchesRegex("[0-9a-f]{16,}"));
  EXPECT_THAT(library, MatchesRegex("[0-9a-f]{16,}"));
  EXPECT_NE(program, library);
}

// Under --device auto, such a run stays on the CPU.
TEST_F(RunRecord, TellsWhetherARunBeganOnTheCpu) {
  ASSERT_EQ(train("model").code, 0);
  EXPECT_TRUE(began_on_cpu(path("model")));
  EXPECT_FALSE(began_on_cpu(path("none")));
  for (const char* cpu : {"{}", "{\"device\": \"cpu\"}\n{\"device\": \"cuda\"}", "{\"device\": 3}", "[]", "{cut"}) {
    write("model/starts.jsonl", cpu);
    EXPECT_TRUE(began_on_cpu(path("model"))) << cpu;
  }
  write("model/starts.jsonl", "{\"device\": \"cuda\"}\n{\"device\": \"cpu\"}\n");
  EXPECT_FALSE(began_on_cpu(path("model")));
}

// Of updates that were made twice, the newer start has them.
TEST_F(RunRecord, TellsHowManyProcessesMadeAnUpdate) {
  ASSERT_EQ(train("model").code, 0);
  const auto made = [&] {
    std::string text;
    for (const MadeUpdates& of : made_updates(path("model"))) {
      const bool is_newest = of.last == std::numeric_limits<std::int64_t>::max();
      text += std::to_string(of.first) + "-" + (is_newest ? "" : std::to_string(of.last)) + ":" + std::to_string(of.processes) +
              " ";
    }
    return text;
  };
  EXPECT_EQ(made(), "1-:1 ");
  write("model/starts.jsonl",
        "{\"step\": 0, \"processes\": 2}\n{\"step\": 30, \"processes\": 4}\n{\"step\": 20}\nnone\n[]\n"
        "{\"step\": 40, \"processes\": \"3\"}\n{\"step\": 40, \"processes\": 3}\n{cut");
  EXPECT_EQ(made(), "1-20:2 21-40:1 41-:3 ");
  EXPECT_TRUE(made_updates(path("none")).empty());
}

TEST_F(RunRecord, TheExpandedGraphIsKept) {
  ASSERT_EQ(train("model").code, 0);
  EXPECT_THAT(read("model/graph.txt"), AllOf(HasSubstr("graph \"tagger\" {"), HasSubstr("parameter %E: FLOAT[12, 16]")));
}

TEST_F(RunRecord, ACheckpointOfAnotherRunIsRefused) {
  ASSERT_EQ(train("model").code, 0);
  ASSERT_EQ(train("other", {"--seed", "7"}).code, 0);
  std::filesystem::remove_all(root_ / "model/checkpoints");
  std::filesystem::rename(root_ / "other/checkpoints", root_ / "model/checkpoints");
  const Ran ran = train("model", {"--resume"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("E0667"), HasSubstr("model/checkpoints/step-000005"), HasSubstr("a different run")));
}

}  // namespace
}  // namespace graphrun
