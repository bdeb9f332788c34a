// graphrun train --seeds: runs with several seeds, and their summary.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Seeds : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
  Ran train(const std::string& seeds, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {
        "train", "graphs/jobs/segment.pbtxt", "--out", "model", "--quiet", "--set", "train.epochs=1", "--seeds", seeds};
    words.insert(words.end(), more.begin(), more.end());
    return graphrun(words);
  }
};

TEST_F(Seeds, GiveATableWithMeanAndDeviation) {
  const Ran two = train("3,8");
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.out, AllOf(HasSubstr("valid, seed 3"), HasSubstr("test, seed 8"), HasSubstr("valid, mean"),
                             HasSubstr("test, deviation")));
  const auto json = nlohmann::json::parse(read("model/seeds.json"));
  const double a = json["seeds"][0]["test"]["loss"], b = json["seeds"][1]["test"]["loss"];
  EXPECT_NE(a, b);
  EXPECT_DOUBLE_EQ(json["mean"]["test"]["loss"].get<double>(), (a + b) / 2);
  EXPECT_NEAR(json["deviation"]["test"]["loss"].get<double>(), std::abs(a - b) / std::sqrt(2.0), 1e-12);

  // Each is the same run as with its seed alone, and a model.
  ASSERT_EQ(graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "alone", "--set", "train.epochs=1", "--seed", "8"}).code,
            0);
  EXPECT_EQ(read("model/seed-8/metrics.jsonl"), read("alone/metrics.jsonl"));
  EXPECT_EQ(graphrun({"infer", "model/seed-3"}, "我\n").code, 0);

  // Nothing is overwritten; with --resume, finished runs stay and missing ones run.
  EXPECT_THAT(train("3,9").err, HasSubstr("E0520"));
  EXPECT_FALSE(exists("model/seed-9"));
  const std::string before = read("model/seed-3/metrics.jsonl");
  const Ran three = train("3,8,9", {"--resume"});
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_THAT(three.out, AllOf(HasSubstr("test, seed 3"), HasSubstr("test, seed 9")));
  EXPECT_EQ(read("model/seed-3/metrics.jsonl"), before);
  // The table contains all runs in the folder, whichever were requested.
  write("model/seed-11/job.pbtxt", "");  // a run that was stopped before it started
  const Ran alone = train("9", {"--resume"});
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_THAT(alone.out, AllOf(HasSubstr("test, seed 9"), HasSubstr("test, seed 3"), HasSubstr("test, seed 8")));
  EXPECT_EQ(nlohmann::json::parse(read("model/seeds.json"))["seeds"].size(), 3u);
  // A separate run cannot be put into the folder of several seeds.
  const Ran plain = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1"});
  EXPECT_EQ(plain.code, 2);
  EXPECT_THAT(plain.err, AllOf(HasSubstr("E0520"), HasSubstr("'model' already contains runs of several seeds")));
}

TEST_F(Seeds, OneThatDivergesDoesNotEndTheOthers) {
  const Ran ran = train("1,2", {"--set", "train.clip.global_norm=0", "--set", "train.optimizer.sgd.learning_rate=1e30"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("seed 1: diverged"), HasSubstr("seed 2: diverged")));
  EXPECT_THAT(ran.err, HasSubstr("E0670"));
}

TEST_F(Seeds, AreNumbersWithCommas) {
  for (const char* wrong : {"1,", "a", "1;2", "-1", "2,2", "18446744073709551616"}) {
    const Ran ran = train(wrong);
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_THAT(ran.err, HasSubstr("--seeds takes"));
  }
}

}  // namespace
}  // namespace graphrun
