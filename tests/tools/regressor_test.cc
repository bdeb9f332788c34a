// The regressor, trained by the program on the adding problem: numbers in, a number out.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Regression : public ProgramTest {
 protected:
  Ran train(const std::string& out, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {
        "train",    "graphs/jobs/adding.pbtxt", "--out", out, "--set", "train.epochs=4", "--quiet", "--threads", "1", "--set",
        "hidden=24"};
    words.insert(words.end(), more.begin(), more.end());
    return graphrun(words);
  }
  // The report of each validation.
  std::vector<double> reported(const std::string& out, const std::string& report) const {
    std::vector<double> values;
    for (const nlohmann::json& line : json_lines(read(out + "/metrics.jsonl")))
      if (line.contains("valid")) values.push_back(line["valid"][report].get<double>());
    return values;
  }
};

TEST_F(Regression, LearnsReportsAndWritesNumbers) {
  const Ran trained = train("model");
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::vector<double> mse = reported("model", "mse");
  ASSERT_EQ(mse.size(), 4u);
  EXPECT_LT(mse.back(), mse.front());
  const Ran evaluated = graphrun({"evaluate", "model"});
  EXPECT_THAT(evaluated.out, AllOf(HasSubstr("mse"), HasSubstr("mae")));
  // Input for inference may omit the target.
  const std::string lines = "{\"steps\": [[0.5, 1], [0.25, 1]]}\n\n{\"steps\": [[0.5, 0]], \"sum\": \"?\"}\n";
  const Ran inferred = graphrun({"infer", "model"}, lines);
  ASSERT_EQ(inferred.code, 0) << inferred.err;
  std::istringstream in(inferred.out);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_TRUE(std::isfinite(std::stod(out[0])));
  EXPECT_EQ(out[1], "");
  const Ran json = graphrun({"infer", "model", "--json"}, lines);
  const auto objects = json_lines(json.out);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_NEAR(objects[0]["values"].get<double>(), std::stod(out[0]), 1e-6);
  const Ran bad = graphrun({"infer", "model"}, lines + "{\"steps\": [[0.5, 1], [nan, 1]]}\n");
  EXPECT_EQ(bad.code, 4);
  const Ran text = graphrun({"infer", "model"}, lines + "{\"steps\": [[0.5, 1], [\"x\", 1]]}\n");
  EXPECT_EQ(text.code, 4);
  EXPECT_EQ(text.out, inferred.out);
  EXPECT_THAT(text.err, HasSubstr("stdin:4:24: error[E0654 no-number]"));
}

TEST_F(Regression, IsShownByData) {
  const Ran shown = graphrun({"data", "graphs/jobs/adding.pbtxt"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("steps  FLOAT["), HasSubstr("target  FLOAT[20]  numbers"), HasSubstr("lengths  INT32[20]")));
}

// The graph needs two numbers per step. Every reader of data reports where another number of them is found, before anything
// runs.
TEST_F(Regression, RefusesListsOfAnotherSizeWhereTheyStand) {
  const std::string good = "{\"steps\": [[0.5, 1], [0.25, 1]], \"sum\": 0.75}\n", empty = "{\"steps\": [], \"sum\": 0}\n";
  const std::string bad = "{\"steps\": [[0.5, 1], [0.25, 1, 0]], \"sum\": 0.75}\n";
  const auto files = [&](const std::string& train, const std::string& valid) {
    write("train.jsonl", train);
    write("valid.jsonl", valid);
    return std::vector<std::string>{"--set", "data.train=train.jsonl", "--set", "data.valid=valid.jsonl"};
  };
  const auto run = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return graphrun(words);
  };
  const auto refusal = [](const std::string& file) {
    return AllOf(HasSubstr(file + ".jsonl:2:1: error[E0623 feed-shape]: step 2 of feed 'steps' has 3 numbers; expected 2"),
                 HasSubstr("input 'steps' of the graph is [time, 2, batch]; the feed is at"));
  };
  for (const auto& [train, valid, file] : {std::tuple(good + bad, good, "train"), {good, good + bad, "valid"}}) {
    const Ran checked = run({"check", "graphs/jobs/adding.pbtxt"}, files(train, valid));
    EXPECT_EQ(checked.code, 4);
    EXPECT_THAT(checked.err, refusal(file));
    const Ran trained = run({"train", "graphs/jobs/adding.pbtxt", "--out", "bad"}, files(train, valid));
    EXPECT_EQ(trained.code, 4);
    EXPECT_THAT(trained.err, refusal(file));
  }
  // The width of a batch of empty sequences comes from the graph.
  const Ran trained =
      run({"train", "graphs/jobs/adding.pbtxt", "--out", "model", "--set", "train.epochs=1", "--set", "data.batch.rows=1"},
          files(good + empty, good));
  EXPECT_EQ(trained.code, 0) << trained.err;
  const Ran inferred = graphrun({"infer", "model"}, good + bad);
  EXPECT_EQ(inferred.code, 4);
  EXPECT_THAT(inferred.err, HasSubstr("stdin:2:1: error[E0623 feed-shape]: step 2 of feed 'steps' has 3 numbers; expected 2"));
  EXPECT_EQ(std::count(inferred.out.begin(), inferred.out.end(), '\n'), 1);
  const Ran evaluated = graphrun({"evaluate", "model", "--data", "train.jsonl"});
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  write("train.jsonl", good + bad);
  EXPECT_THAT(graphrun({"evaluate", "model", "--data", "train.jsonl"}).err, refusal("train"));
}

TEST_F(Regression, ChecksNumbersBeforeTraining) {
  const std::string good = "{\"steps\": [[0.5, 1], [0.25, 1]], \"sum\": 0.75}\n";
  write("train.jsonl", good + "{\"steps\": [[0.5, 1], [0.25, \"x\"]], \"sum\": 0.75}\n");
  write("valid.jsonl", good);
  const std::vector<std::string> check = {"check", "graphs/jobs/adding.pbtxt", "--set", "data.train=train.jsonl",
                                          "--set", "data.valid=valid.jsonl"};
  const Ran text = graphrun(check);
  EXPECT_EQ(text.code, 4);
  EXPECT_THAT(text.err, HasSubstr("train.jsonl:2:30: error[E0654 no-number]"));
}

// Layers of any cell as one network, each with its own learning rate; a resumed run has the same bits.
TEST_F(Regression, StacksCellsAndResumesRatesOfTheirOwn) {
  std::string job = read("graphs/jobs/adding.pbtxt");
  const std::string optimizer = "adam { learning_rate: 5e-3 }";
  const std::size_t at = job.find(optimizer);
  ASSERT_NE(at, std::string::npos);
  job.insert(at + optimizer.size(), " group { match: \"read.layers.0.*\" factor: 0.1 } group { match: \"read.*\" factor: 2 }");
  write("graphs/jobs/adding.pbtxt", job);
  const std::vector<std::string> stacked = {"--set", "cell=cells/stacked.pbtxt(cell = cells/atr.pbtxt)"};
  const Ran whole = train("whole", stacked);
  ASSERT_EQ(whole.code, 0) << whole.err;
  std::vector<std::string> two = stacked, four = stacked;
  two.insert(two.end(), {"--set", "train.epochs=2"});
  ASSERT_EQ(train("parts", two).code, 0);
  four.push_back("--resume");
  ASSERT_EQ(train("parts", four).code, 0);
  EXPECT_EQ(read_below("parts/best", "parameters.safetensors"), read_below("whole/best", "parameters.safetensors"));
  const Ran checked = graphrun({"check", "graphs/jobs/adding.pbtxt", stacked[0], stacked[1]});
  ASSERT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out,
              AllOf(HasSubstr("learning rate:\n  times 0.1: read.layers.0."), HasSubstr("  times 2: read.layers.1.")));
}

}  // namespace
}  // namespace graphrun
