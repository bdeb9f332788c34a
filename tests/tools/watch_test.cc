// train { watch { … } }: what it records, and that it changes nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/tools/program_fixture.h"
#include "tools/train/watcher.h"

namespace graphrun {
namespace {

using testing::HasSubstr;
using testing::Not;

class WatchedRun : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
    write_language_model();
  }
  Ran train(const std::string& job, const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", "graphs/jobs/" + job + ".pbtxt", "--out", out, "--device", "cpu",
                                      "--set", "train.metrics.every_steps=1"};
    words.insert(words.end(), more.begin(), more.end());
    return graphrun(words);
  }
  // The lines of metrics.jsonl that have what was watched, or that lack it.
  std::vector<nlohmann::json> lines(const std::string& out, bool watched) const {
    std::vector<nlohmann::json> found;
    for (nlohmann::json& line : json_lines(read(out + "/metrics.jsonl"))) {
      if (line.contains("watch") == watched) found.push_back(std::move(line));
    }
    return found;
  }
  static double norm_of_all(const nlohmann::json& line) {
    double squares = 0;
    for (const auto& parameter : line["watch"]["parameters"]) squares += std::pow(parameter["gradient"].get<double>(), 2);
    return std::sqrt(squares);
  }
  // The gradients of all parameters together have the norm that the run records.
  void expect_norms(const std::string& out) const {
    std::map<std::int64_t, double> norms;
    for (const auto& line : lines(out, false)) {
      if (line.contains("gradient_norm")) norms[line["step"]] = line["gradient_norm"];
    }
    const auto watched = lines(out, true);
    ASSERT_FALSE(watched.empty());
    for (const auto& line : watched) {
      const double norm = norms.at(line["step"]);
      EXPECT_NEAR(norm_of_all(line), norm, 1e-4 * norm) << line["step"];
    }
  }
};

const std::vector<std::string> kAll = {"--set", "train.watch.match=*", "--set", "train.watch.every_steps=2"};

TEST_F(WatchedRun, ChangesNoBitOfTheRun) {
  const std::vector<std::string> short_run = {"--set", "train.epochs=2"};
  ASSERT_EQ(train("segment", "plain", short_run).code, 0);
  std::vector<std::string> watched = short_run;
  watched.insert(watched.end(), kAll.begin(), kAll.end());
  const Ran ran = train("segment", "watched", watched);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(lines("plain", false), lines("watched", false));
  EXPECT_EQ(read_below("plain/best", "parameters.safetensors"), read_below("watched/best", "parameters.safetensors"));
  EXPECT_EQ(lines("watched", true).size(), 5U);
  expect_norms("watched");
}

TEST_F(WatchedRun, RecordsGatesStatesAndParameters) {
  ASSERT_EQ(
      train("segment", "model",
            {"--set", "train.epochs=1", "--set", "train.watch.match=read.forward.*", "--set", "train.watch.every_steps=5"})
          .code,
      0);
  const auto watched = lines("model", true);
  ASSERT_EQ(watched.size(), 1U);
  EXPECT_EQ(watched[0]["step"], 5);
  const nlohmann::json& of = watched[0]["watch"];
  EXPECT_EQ(of["parameters"].size(), 2U);
  EXPECT_TRUE(of["parameters"].contains("read.forward.W"));
  EXPECT_EQ(of["gates"].size(), 2U);
  const nlohmann::json& gate = of["gates"]["read.forward.i"];
  EXPECT_EQ(gate["from"], 0);
  EXPECT_GT(gate["mean"], 0.2);
  EXPECT_LT(gate["mean"], 0.8);
  // Padding does not count: no more elements than real steps times the size of the state.
  const auto counts = gate["counts"].get<std::vector<int>>();
  EXPECT_EQ(counts.size(), 20U);
  const int elements = std::accumulate(counts.begin(), counts.end(), 0);
  EXPECT_GT(elements, 0);
  EXPECT_EQ(elements % 16, 0);
  const nlohmann::json& state = of["states"]["read.forward.h"];
  EXPECT_GT(state["gradient"].size(), 1U);
  EXPECT_GT(state["gradient"][1], 0);
}

// Plain descent changes a parameter by the rate times its gradient. The states of a stream are those of the run.
TEST_F(WatchedRun, ComparesUpdatesWithWeights) {
  std::vector<std::string> words = kAll;
  words.insert(words.end(), {"--set", "train.epochs=1", "--set", "train.clip.global_norm=0"});
  const Ran ran = train("words", "model", words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_norms("model");
  for (const auto& line : lines("model", true)) {
    for (const auto& parameter : line["watch"]["parameters"]) {
      const double expected = 0.2 * parameter["gradient"].get<double>() / parameter["weight"].get<double>();
      EXPECT_NEAR(parameter["update"], expected, 1e-3 * expected);
    }
  }
}

TEST_F(WatchedRun, SumsTheBatchesOfAnUpdate) {
  std::vector<std::string> words = kAll;
  words.insert(words.end(), {"--set", "train.epochs=2", "--set", "train.accumulate=2", "--set", "train.per=1"});
  const Ran ran = train("segment", "model", words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_norms("model");
}

TEST_F(WatchedRun, IsTheSameAfterAResumption) {
  std::vector<std::string> words = kAll;
  words.insert(words.end(), {"--set", "train.epochs=1"});
  ASSERT_EQ(train("words", "model", words).code, 0);
  words.back() = "train.epochs=2";
  ASSERT_EQ(train("words", "whole", words).code, 0);
  words.push_back("--resume");
  ASSERT_EQ(train("words", "model", words).code, 0);
  EXPECT_EQ(lines("model", true), lines("whole", true));
}

// Gates are not finite before the loss is: the run ends with the message of a run without a watch.
TEST_F(WatchedRun, SeesARunDiverge) {
  const std::vector<std::string> far = {"--set", "train.optimizer.adam.learning_rate=1e38", "--set", "train.epochs=2"};
  const Ran plain = train("segment", "plain", far);
  std::vector<std::string> words = far;
  words.insert(words.end(), {"--set", "train.watch.match=*", "--set", "train.watch.every_steps=1"});
  const Ran watched = train("segment", "watched", words);
  EXPECT_EQ(plain.code, 6) << plain.err;
  EXPECT_EQ(watched.code, 6) << watched.err;
  EXPECT_THAT(watched.err, HasSubstr("E0670 diverged"));
  EXPECT_EQ(lines("watched", false), lines("plain", false));
}

TEST(WatchedHistogram, HasNoPlaceForNan) {
  const nlohmann::ordered_json found = histogram_json({std::nan(""), 0.52, 2}, 0, 1);
  EXPECT_EQ(found["counts"][10], 1);
  EXPECT_EQ(found["counts"][19], 1);  // beyond the range
  int all = 0;
  for (const auto& count : found["counts"]) all += count.get<int>();
  EXPECT_EQ(all, 2);
  EXPECT_TRUE(found["mean"].is_null());
}

TEST_F(WatchedRun, AppearsInPlotsAndTensorBoard) {
  std::vector<std::string> words = {
      "--set", "train.epochs=1", "--set", "train.watch.match=crf.T", "--set", "train.watch.every_steps=2", "--tensorboard"};
  ASSERT_EQ(train("segment", "model", words).code, 0);
  const Ran plot = graphrun({"plot", "model"});
  EXPECT_THAT(plot.out, HasSubstr(">gradient norm of crf.T</text>"));
  EXPECT_THAT(plot.out, HasSubstr(">relative update of crf.T</text>"));
  EXPECT_THAT(plot.out, HasSubstr(">norm of crf.T</text>"));
}

TEST_F(WatchedRun, DrawsTheGradientsOfTheFirstAndLastStep) {
  ASSERT_EQ(
      train("segment", "model",
            {"--set", "train.epochs=1", "--set", "train.watch.match=read.forward.h", "--set", "train.watch.every_steps=2"})
          .code,
      0);
  const Ran plot = graphrun({"plot", "model"});
  EXPECT_THAT(plot.out, HasSubstr(">gradient norm of read.forward.h, first step</text>"));
  EXPECT_THAT(plot.out, HasSubstr(">gradient norm of read.forward.h, last step</text>"));
}

TEST_F(WatchedRun, Mistakes) {
  const Ran unused = train("segment", "model", {"--set", "train.epochs=1", "--set", "train.watch.match=decode.*"});
  EXPECT_EQ(unused.code, 0);
  EXPECT_THAT(unused.err, HasSubstr("E0422 unused-pattern"));
  EXPECT_THAT(unused.err, HasSubstr("no parameter, state, sigmoid or tanh matches watch { match: \"decode.*\" }"));
  const Ran none = train("segment", "other", {"--set", "train.watch.every_steps=5"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("watch without match"));
  const Ran negative = train("segment", "other", {"--set", "train.watch.match=*", "--set", "train.watch.every_steps=-1"});
  EXPECT_EQ(negative.code, 3);
  EXPECT_THAT(negative.err, HasSubstr("-1 updates; expected 1 or more"));
}

}  // namespace
}  // namespace graphrun
