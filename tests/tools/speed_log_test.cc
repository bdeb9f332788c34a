// speed.jsonl and train.log, the files of a run that contain times.
#include "tools/run/speed_log.h"

#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "tests/tools/program_fixture.h"
#include "tools/run/progress.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SpeedLogTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
    write_language_model();
  }
  Ran train(const std::string& job, const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", "graphs/jobs/" + job + ".pbtxt", "--out", out, "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return graphrun(words);
  }
  // The lines without their times; every line must have one.
  std::vector<std::string> log_lines(const std::string& out) const {
    static const std::regex kTime("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ (.*)$");
    std::vector<std::string> lines;
    std::istringstream in(read(out + "/train.log"));
    for (std::string line; std::getline(in, line);) {
      std::smatch parts;
      EXPECT_TRUE(std::regex_match(line, parts, kTime)) << line;
      lines.push_back(parts.size() > 1 ? parts.str(1) : line);
    }
    return lines;
  }
};

TEST_F(SpeedLogTest, HasALineForEachIntervalAndEvaluation) {
  ASSERT_EQ(train("segment", "model", {"--set", "train.epochs=2", "--set", "train.metrics.every_steps=2"}).code, 0);
  std::vector<std::string> lines;
  for (const nlohmann::json& line : json_lines(read("model/speed.jsonl"))) {
    lines.push_back(line["step"].dump() + (line.contains("train") ? " " + line["train"]["updates"].dump() : "") +
                    (line.contains("valid") ? " valid" : "") + (line.contains("test") ? " test" : ""));
    EXPECT_GT(line["seconds"], 0);
    EXPECT_GT(line["peak_memory"], 1 << 20);
    EXPECT_EQ(line["epoch"], line["step"] > 5 ? 2 : 1);
    for (const char* part : {"train", "valid", "test"}) {
      if (!line.contains(part)) continue;
      EXPECT_GT(line[part]["examples_per_second"], 0);
      EXPECT_GT(line[part]["tokens_per_second"], line[part]["examples_per_second"]);
    }
  }
  EXPECT_THAT(lines, testing::ElementsAre("2 2", "4 2", "5 1 valid", "6 1", "8 2", "10 2", "10 valid", "10 test"));
}

// Real steps of the first sequence that is fed to the network; for a stream, the window of each row.
TEST_F(SpeedLogTest, CountsRealUnits) {
  const auto work = [&](const std::string& out) {
    Work sum;
    for (const nlohmann::json& line : json_lines(read(out + "/speed.jsonl"))) {
      if (!line.contains("train")) continue;
      const double seconds = line["train"]["seconds"];
      sum.examples += std::llround(seconds * line["train"]["examples_per_second"].get<double>());
      sum.tokens += std::llround(seconds * line["train"]["tokens_per_second"].get<double>());
    }
    return sum;
  };
  const std::vector<std::string> once = {"--set", "train.epochs=1"};
  ASSERT_EQ(train("segment", "segment", once).code, 0);
  std::int64_t characters = 0;
  for (const char byte : read("data/train.seg"))
    if ((static_cast<unsigned char>(byte) & 0xC0u) == 0xC0u) ++characters;
  EXPECT_EQ(work("segment").examples, 40);
  EXPECT_EQ(work("segment").tokens, characters);
  ASSERT_EQ(train("words", "words", once).code, 0);
  const Ran told = train("words", "told", once);
  std::smatch found;
  const std::regex kSteps("train (\\d+) steps, (\\d+) batches(?:, (\\d+) steps at its end unused)?");
  ASSERT_TRUE(std::regex_search(told.err, found, kSteps)) << told.err;
  EXPECT_EQ(work("words").examples, 4 * std::stoll(found[2]));
  EXPECT_NEAR(static_cast<double>(work("words").tokens), std::stod(found[1]), 10);
}

TEST_F(SpeedLogTest, ContinuesOverStartsAndIsCutAfterItsLastWholeLine) {
  ASSERT_EQ(train("segment", "model", {"--set", "train.epochs=1"}).code, 0);
  const std::string speed = read("model/speed.jsonl"), log = read("model/train.log");
  write("model/speed.jsonl", speed + "{\"time\":\"20");
  write("model/train.log", log + "2026-");
  ASSERT_EQ(train("segment", "model", {"--set", "train.epochs=2", "--resume"}).code, 0);
  EXPECT_TRUE(read("model/speed.jsonl").starts_with(speed + "{\"time\":"));
  const std::vector<nlohmann::json> lines = json_lines(read("model/speed.jsonl"));  // each line is an object
  EXPECT_EQ(lines.back()["step"], 10);
  EXPECT_GE(lines.back()["seconds"], lines[1]["seconds"]);
  EXPECT_TRUE(read("model/train.log").starts_with(log));
  EXPECT_THAT(log_lines("model"), testing::Contains("continuing from step 5, epoch 2"));
}

TEST_F(SpeedLogTest, TrainLogHasWhatIsShown) {
  const Ran ran = train("segment", "model", {"--set", "train.epochs=2", "--set", "train.freeze=Q*"});
  ASSERT_EQ(ran.code, 0);
  const std::vector<std::string> lines = log_lines("model");
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  EXPECT_EQ(text, ran.err);
  EXPECT_THAT(text, AllOf(HasSubstr("warning[E0422"), HasSubstr("data: train 40 examples"), HasSubstr("epoch 2/2  loss")));
  // Also for a run without output, and the reason for which a run ended.
  ASSERT_EQ(train("segment", "quiet", {"--set", "train.epochs=1", "--quiet"}).code, 0);
  EXPECT_THAT(log_lines("quiet"), testing::Contains(HasSubstr("epoch 1/1  loss")));
  ASSERT_EQ(
      train("segment", "diverged", {"--set", "train.clip.global_norm=0", "--set", "train.optimizer.sgd.learning_rate=1e30"})
          .code,
      6);
  EXPECT_THAT(read("diverged/train.log"), HasSubstr("Z graphs/cells/atr.pbtxt:14:55: error[E0670 diverged]: step 2"));
}

TEST_F(SpeedLogTest, WhatCannotBeWrittenEndsTheRun) {
  for (const std::string name : {"speed.jsonl", "train.log"}) {
    const Ran full = graphrun_under("full:" + name + ":3", {"train", "graphs/jobs/segment.pbtxt", "--out", name + "-full"});
    EXPECT_EQ(full.code, 5) << full.err;
    EXPECT_THAT(full.err, AllOf(HasSubstr("E0505"), HasSubstr(name)));
  }
}

TEST_F(SpeedLogTest, ALineFileIsCutBehindItsLastWholeLine) {
  const std::string whole = "one\n" + std::string(10000, 'x') + "\n";
  const std::pair<std::string, std::string> cases[] = {
      {"", ""}, {"one\n", "one\n"}, {"torn", ""}, {whole + std::string(9000, 'y'), whole}, {std::string(9000, 'y'), ""}};
  for (const auto& [before, kept] : cases) {
    write("lines", before);
    LineFile(path("lines")).write("next");
    EXPECT_EQ(read("lines"), kept + "next\n");
  }
  EXPECT_THROW(LineFile(path("none/lines")), UserError);
}

TEST_F(SpeedLogTest, SecondsAreThoseOfTheCheckpoint) {
  EXPECT_EQ(seconds_before(path("none"), 10), 0);
  write("speed", "{\"step\":5,\"seconds\":1.5}\nno JSON\n{\"step\":7}\n{\"step\":9,\"seconds\":3}\n");
  EXPECT_EQ(seconds_before(path("speed"), 4), 0);
  EXPECT_EQ(seconds_before(path("speed"), 6), 1.5);
  EXPECT_EQ(seconds_before(path("speed"), 100), 3);
}

// Updates are written to the file independently of the terminal, and diagnostics without colors.
TEST_F(SpeedLogTest, ALiveLineIsNotLogged) {
  std::FILE* out = std::tmpfile();
  double now = 0;
  ProgressDisplay display({false, true, 80, 10, out, [&] { return now; }, true});
  display.log("before");
  display.keep_log(path("log"));
  for (; now < 15; now += 1) display.update({1, 2, static_cast<std::int64_t>(now), 30, 1, 10, -1});
  display.warn({Diagnostic{Severity::kWarning, "E0001 x", {}, "look", {}}});
  std::fclose(out);
  write("model/train.log", read("log"));
  EXPECT_THAT(log_lines("model"),
              testing::ElementsAre("before", "epoch 1/2  step 0/30  loss 1.0000  10 tokens/s",
                                   "epoch 1/2  step 10/30  loss 1.0000  10 tokens/s", "warning[E0001 x]: look"));
}

}  // namespace
}  // namespace graphrun
