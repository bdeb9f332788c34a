// graphrun verify and graphrun replay: parts of a run, computed again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;
using testing::Not;

class Replay : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
  void train(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", "graphs/jobs/segment.pbtxt",   "--out", "model",         "--device", "cpu",
                                      "--set", "train.metrics.every_steps=3", "--set", "train.epochs=4"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = graphrun(words);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
};

// The checkpoints of updates 15 and 20 are kept: five updates an epoch.
TEST_F(Replay, VerifiesARunBitForBit) {
  train();
  const Ran part = graphrun({"verify", "model", "--steps", "7"});
  EXPECT_EQ(part.code, 0) << part.out << part.err;
  EXPECT_THAT(part.out, HasSubstr("build    the same: graphrun "));
  // The next update with figures is the 9th: of steps 3, 6 and 9, and of the first epoch.
  EXPECT_THAT(part.out, HasSubstr("updates  9 of 'model' repeated on "));
  EXPECT_THAT(part.out, HasSubstr("metrics  4 lines, the same bits\n"));
  EXPECT_THAT(part.out, HasSubstr("tensors  not compared: no checkpoint of update 9 is kept\n"));
  EXPECT_THAT(part.out, HasSubstr("result   the same bits\n"));
  const Ran whole = graphrun({"verify", "model", "--steps", "15", "--json"});
  EXPECT_EQ(whole.code, 0) << whole.out << whole.err;
  const auto receipt = nlohmann::json::parse(whole.out);
  EXPECT_EQ(receipt["same"], true);
  EXPECT_THAT(receipt["tensors"].get<std::string>(), HasSubstr("of the checkpoint of update 15, the same bits"));
}

TEST_F(Replay, VerifiesOnlyWhatIsRecorded) {
  train({"--set", "train.metrics.every_steps=1000"});
  const Ran all = graphrun({"verify", "model"});  // the 20 updates of the run
  EXPECT_EQ(all.code, 0) << all.out << all.err;
  EXPECT_THAT(all.out, HasSubstr("of the checkpoint of update 20, the same bits\n"));
  const Ran to_checkpoint = graphrun({"verify", "model", "--steps", "3"});
  EXPECT_EQ(to_checkpoint.code, 0);
  EXPECT_THAT(to_checkpoint.out, HasSubstr("updates  15 of 'model' repeated on "));
  std::filesystem::remove_all(root_ / "model/checkpoints");
  const Ran nothing = graphrun({"verify", "model", "--steps", "3"});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.out, HasSubstr("result   nothing to compare"));
}

TEST_F(Replay, FindsADifference) {
  train();
  std::string metrics = read("model/metrics.jsonl");
  const std::size_t at = metrics.find("\"loss\":") + 9;
  metrics[at] = metrics[at] == '1' ? '2' : '1';
  write("model/metrics.jsonl", metrics);
  const Ran ran = graphrun({"verify", "model", "--steps", "7"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("metrics  line 1 differs\n  recorded  {\"step\":3,"));
  EXPECT_THAT(ran.out, HasSubstr("result   different bits\n"));
  // The data is part of what is compared.
  write("data/train.seg", "我 你\n");
  const Ran data = graphrun({"verify", "model", "--steps", "7"});
  EXPECT_EQ(data.code, 2);
  EXPECT_THAT(data.err, HasSubstr("E0524 other-data"));
}

TEST_F(Replay, ShowsAnUpdate) {
  train({"--set", "train.metrics.every_steps=1"});
  const auto ran_at = [&](const std::string& step) {
    const Ran ran = graphrun({"replay", "model", "--step", step, "--watch", "read.forward.*", "--rows", "2"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const std::string early = ran_at("4"), late = ran_at("17");
  EXPECT_THAT(early, HasSubstr("update 4 of 'model', epoch 1, batch 4 of 5; repeated from the beginning on the CPU\n"));
  EXPECT_THAT(late,
              HasSubstr("update 17 of 'model', epoch 4, batch 2 of 5; repeated from the checkpoint of update 15 on the CPU\n"));
  for (const std::string& text : {early, late}) {
    EXPECT_THAT(text, HasSubstr("\nwords "));
    EXPECT_THAT(text, HasSubstr("loss of each row alone, without dropout\n    0  "));
    EXPECT_THAT(text, HasSubstr("\nread.forward.W "));
    EXPECT_THAT(text, HasSubstr("gates, mean by step\nread.forward."));
    EXPECT_THAT(text, HasSubstr("norm of the gradient of a state by step\nread.forward.h "));
  }
  // The figures are those that the run recorded, to the last digit.
  for (const auto& line : json_lines(read("model/metrics.jsonl"))) {
    if (!line.contains("gradient_norm") || (line["step"] != 4 && line["step"] != 17)) continue;
    const std::string& text = line["step"] == 4 ? early : late;
    EXPECT_THAT(text, HasSubstr("loss " + line["loss"].dump() + ", norm of the gradient " + line["gradient_norm"].dump()));
  }
}

TEST_F(Replay, LeavesTheRunAsItIs) {
  train();
  const std::string metrics = read("model/metrics.jsonl"), log = read("model/train.log"), starts = read("model/starts.jsonl");
  ASSERT_EQ(graphrun({"replay", "model", "--step", "20"}).code, 0);
  ASSERT_EQ(graphrun({"verify", "model", "--steps", "3"}).code, 0);
  EXPECT_EQ(read("model/metrics.jsonl"), metrics);
  EXPECT_EQ(read("model/train.log"), log);
  EXPECT_EQ(read("model/starts.jsonl"), starts);
}

TEST_F(Replay, Mistakes) {
  train();
  const auto refused = [&](const std::vector<std::string>& words, int code, const std::string& text) {
    const Ran ran = graphrun(words);
    EXPECT_EQ(ran.code, code) << text;
    EXPECT_THAT(ran.err, HasSubstr(text));
  };
  refused({"replay", "model"}, 2, "--step N is missing");
  refused({"replay", "model", "--step", "0"}, 2, "--step takes a whole number from 1");
  refused({"replay", "model", "--step", "21"}, 2, "the run in 'model' records 20 updates; there is no update 21");
  refused({"verify", "none"}, 2, "E0521 no-run");
  refused({"verify", "model", "--steps", "many"}, 2, "--steps takes a whole number from 1");
}

}  // namespace
}  // namespace graphrun
