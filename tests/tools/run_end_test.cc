// How a run ends: after epochs, updates or hours, whichever comes first; and how often it saves and reports before.
#include "tools/train/run_end.h"

#include <gmock/gmock.h>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// An epoch of the segmenter is five updates.
class EndOfRun : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
  static std::vector<std::string> words(const std::string& out, const std::vector<std::string>& sets) {
    std::vector<std::string> all = {"train", "graphs/jobs/segment.pbtxt", "--out", out, "--threads", "1"};
    for (const std::string& set : sets) all.insert(all.end(), {"--set", "train." + set});
    return all;
  }
  Ran train(const std::string& out, const std::vector<std::string>& sets, bool resume = false) const {
    std::vector<std::string> all = words(out, sets);
    if (resume) all.emplace_back("--resume");
    return graphrun(all);
  }
  std::string last_checkpoint(const std::string& out) const {
    std::string last;
    for (const auto& entry : fs::directory_iterator(root_ / out / "checkpoints"))
      last = std::max(last, entry.path().filename().string());
    return last;
  }
  nlohmann::json state(const std::string& out) const {
    return nlohmann::json::parse(read(out + "/checkpoints/" + last_checkpoint(out) + "/state.json"));
  }
  // The last line of metrics with a validation.
  nlohmann::json validated(const std::string& out) const {
    nlohmann::json last;
    for (const nlohmann::json& line : json_lines(read(out + "/metrics.jsonl")))
      if (line.contains("valid")) last = line;
    return last;
  }
  std::size_t checkpoints(const std::string& out) const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(root_ / out / "checkpoints"), {}));
  }
};

TEST_F(EndOfRun, ByUpdatesIsWithinAnEpochAndValidates) {
  const Ran ran = train("model", {"epochs=0", "updates=7"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("epoch 1  loss"), HasSubstr("epoch 2, step 7"), HasSubstr("/7"), Not(HasSubstr("/0"))));
  EXPECT_THAT(ran.out, HasSubstr("test"));
  EXPECT_EQ(last_checkpoint("model"), "step-000007");
  EXPECT_EQ(validated("model")["step"], 7);
  EXPECT_EQ(validated("model")["epoch"], 2);
  EXPECT_GT(validated("model")["loss"], 0);  // for the epoch without a line of its own
  EXPECT_FALSE(state("model").contains("seconds"));
  EXPECT_EQ(graphrun({"infer", "model"}, "我\n").code, 0);
  EXPECT_THAT(train("model", {"epochs=0", "updates=7"}, true).err,
              HasSubstr("is finished: 7 updates done, the last in epoch 2 (train.updates); the model is that of epoch"));
}

// The last checkpoint of an epoch without a validation: a run that ends there validates when it is resumed. The metrics already
// have a line with the epoch's loss.
TEST_F(EndOfRun, AnEarlierEndAfterAnEpochOnlyValidates) {
  ASSERT_EQ(train("model", {"epochs=2", "validate.every_epochs=2"}).code, 0);
  fs::remove_all(root_ / "model/checkpoints/step-000010");
  const Ran ran = train("model", {"epochs=1", "validate.every_epochs=2"}, true);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(validated("model")["step"], 5);
  EXPECT_FALSE(validated("model").contains("loss"));
}

TEST_F(EndOfRun, IsWhateverComesFirst) {
  ASSERT_EQ(train("epochs", {"epochs=1", "updates=7", "hours=100"}).code, 0);
  EXPECT_EQ(last_checkpoint("epochs"), "step-000005");
  ASSERT_EQ(train("updates", {"epochs=8", "updates=3"}).code, 0);
  EXPECT_EQ(last_checkpoint("updates"), "step-000003");
  ASSERT_EQ(train("both", {"epochs=2", "updates=10"}).code, 0);
  EXPECT_EQ(validated("both")["step"], 10);
}

// Epochs start as they do without the limit, and so does a schedule by epochs: from epoch 3, update 11, on.
TEST_F(EndOfRun, MayBePostponedWithTheSameResults) {
  ASSERT_EQ(train("whole", {"epochs=0", "updates=13"}).code, 0);
  ASSERT_EQ(train("parts", {"epochs=0", "updates=7"}).code, 0);
  const Ran ran = train("parts", {"epochs=0", "updates=13"}, true);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("continuing from step 7"));
  for (const char* part : {"parameters.safetensors", "slots.safetensors"})
    EXPECT_EQ(read(std::string("parts/checkpoints/step-000013/") + part),
              read(std::string("whole/checkpoints/step-000013/") + part));
  EXPECT_LT(validated("whole")["learning_rate"], 0.02);
  // From one kind of limit to another.
  ASSERT_EQ(train("parts", {"epochs=4"}, true).code, 0);
  EXPECT_EQ(last_checkpoint("parts"), "step-000020");
  ASSERT_EQ(train("whole", {"epochs=4"}, true).code, 0);
  EXPECT_EQ(read("parts/checkpoints/step-000020/parameters.safetensors"),
            read("whole/checkpoints/step-000020/parameters.safetensors"));
}

TEST_F(EndOfRun, ByUpdatesLeavesTheSameBitsAfterKills) {
  const std::vector<std::string> sets = {"epochs=0", "updates=43", "checkpoint.every_steps=4"};
  ASSERT_EQ(train("whole", sets).code, 0);
  finish_with_stops(words("parts", sets), "parts",
                    {"term:/checkpoints/:30", "kill:/checkpoints/:50+2000", "term:/checkpoints/:40+900", "kill:/best/:9"});
  EXPECT_EQ(read("parts/metrics.jsonl"), read("whole/metrics.jsonl"));
  for (const auto& entry : fs::recursive_directory_iterator(root_ / "whole/checkpoints")) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), root_ / "whole").string();
    EXPECT_EQ(read("parts/" + name), read("whole/" + name)) << name;
  }
}

// A signal during the last validation, at the end of an epoch and within one: the validation runs on resuming.
TEST_F(EndOfRun, ASignalInTheLastValidationChangesNothing) {
  for (const std::string updates : {"10", "12"}) {
    const std::vector<std::string> sets = {"epochs=0", "updates=" + updates, "metrics.every_steps=" + updates};
    ASSERT_EQ(train("whole" + updates, sets).code, 0);
    // At the line of the last update's metrics, before the validation. Until then the file was opened, truncated to its length,
    // and got a line for each finished epoch and a sync for each save.
    const Ran ran =
        graphrun_under("term:metrics.jsonl:" + std::string(updates == "10" ? "6" : "8"), words("parts" + updates, sets));
    ASSERT_EQ(ran.code, 128 + SIGTERM) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("stopped by signal 15 at step " + updates));
    ASSERT_EQ(train("parts" + updates, sets, true).code, 0);
    EXPECT_EQ(read("parts" + updates + "/metrics.jsonl"), read("whole" + updates + "/metrics.jsonl"));
  }
}

// The average is made at the end, whichever epoch is the best.
TEST_F(EndOfRun, TestsTheAverageOfTheLastEpoch) {
  ASSERT_EQ(train("model", {"epochs=8", "average.last=2"}).code, 0);
  ASSERT_LT(state("model")["best_epoch"], 8);
  const nlohmann::json last = json_lines(read("model/metrics.jsonl")).back();
  EXPECT_TRUE(last.contains("test"));
  EXPECT_EQ(last["epoch"], 8);
}

// A signal between the validation of the average and the test: both run on resuming, and write their lines once.
TEST_F(EndOfRun, ASignalAfterTheAverageChangesNothing) {
  const std::vector<std::string> sets = {"epochs=0", "updates=12", "average.last=2"};
  ASSERT_EQ(train("whole", sets).code, 0);
  // The line of the last evaluation but one; before all lines, the file was opened.
  const std::size_t operation = json_lines(read("whole/speed.jsonl")).size();
  const Ran ran = graphrun_under("term:speed.jsonl:" + std::to_string(operation), words("parts", sets));
  ASSERT_EQ(ran.code, 128 + SIGTERM) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("average of the parameters"), HasSubstr("stopped by signal 15 at step 12")));
  ASSERT_EQ(train("parts", sets, true).code, 0);
  EXPECT_EQ(read("parts/metrics.jsonl"), read("whole/metrics.jsonl"));
}

// The same after the line of an epoch that is not complete, without validation data.
TEST_F(EndOfRun, ASignalInTheTestChangesNothing) {
  std::string job = read("graphs/jobs/segment.pbtxt");
  job.erase(job.find(" valid: \"../../data/dev.seg\""), std::string(" valid: \"../../data/dev.seg\"").size());
  job.erase(job.find("  validate {"), job.find("epochs: 8") - job.find("  validate {"));
  write("graphs/jobs/segment.pbtxt", job);
  const std::vector<std::string> sets = {"epochs=0", "updates=7"};
  ASSERT_EQ(train("whole", sets).code, 0);
  // Before this line the file was opened and truncated, and got a sync for each save and the line of the first epoch.
  const Ran ran = graphrun_under("term:metrics.jsonl:6", words("parts", sets));
  ASSERT_EQ(ran.code, 128 + SIGTERM) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("epoch 2, step 7  loss"), HasSubstr("stopped by signal 15 at step 7")));
  ASSERT_EQ(train("parts", sets, true).code, 0);
  EXPECT_EQ(read("parts/metrics.jsonl"), read("whole/metrics.jsonl"));
}

TEST_F(EndOfRun, ByHoursCountsAllStarts) {
  const auto hours = [](double seconds) { return "hours=" + std::to_string(seconds / 3600); };
  const Ran ran = train("model", {"epochs=0", hours(1)});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("train.hours are over"));
  const std::int64_t step = state("model")["step"];
  EXPECT_GT(step, 0);
  EXPECT_EQ(validated("model")["step"], step);
  EXPECT_TRUE(state("model")["finished"]);
  EXPECT_GE(state("model")["seconds"].get<double>(), 1.0);
  EXPECT_THAT(train("model", {"epochs=0", hours(1)}, true).err, HasSubstr("is finished: "));

  const double before = state("model")["seconds"];
  ASSERT_EQ(train("model", {"epochs=0", hours(before + 1)}, true).code, 0);
  const double after = state("model")["seconds"];
  EXPECT_GE(after, before + 0.99);
  EXPECT_GT(state("model")["step"], step);
  // The lines of the second start in the speed log continue those of the first.
  const auto lines = json_lines(read("model/speed.jsonl"));
  for (std::size_t i = 1; i < lines.size(); ++i)
    EXPECT_GE(lines[i]["seconds"].get<double>() + 0.002, lines[i - 1]["seconds"].get<double>()) << i;
  EXPECT_NEAR(lines.back()["seconds"].get<double>(), after, 5);
}

// A run that gets a limit of hours only when it is resumed takes its earlier time from speed.jsonl.
TEST_F(EndOfRun, ByHoursMayComeLater) {
  ASSERT_EQ(train("model", {"epochs=2"}).code, 0);
  write("model/speed.jsonl", read("model/speed.jsonl") + "{\"step\":10,\"seconds\":3000}\n{\"step\":11,\"seconds\":9000}\n");
  const Ran ran = train("model", {"epochs=0", "hours=" + std::to_string(3001. / 3600)}, true);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(state("model")["step"], 10);
  EXPECT_GE(state("model")["seconds"].get<double>(), 3000.9);
  EXPECT_LT(state("model")["seconds"].get<double>(), 3100);
}

TEST_F(EndOfRun, OfARunWithoutValidationKeepsTheLastParameters) {
  std::string job = read("graphs/jobs/segment.pbtxt");
  const std::size_t valid = job.find(" valid: \"../../data/dev.seg\" test: \"../../data/dev.seg\"");
  job.erase(valid, std::string(" valid: \"../../data/dev.seg\" test: \"../../data/dev.seg\"").size());
  job.erase(job.find("  validate {"), job.find("epochs: 8") - job.find("  validate {"));
  write("graphs/jobs/segment.pbtxt", job);
  const Ran ran = train("model", {"epochs=0", "updates=7"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(exists("model/best/step-000007"));
  EXPECT_EQ(json_lines(read("model/metrics.jsonl")).back()["step"], 7);
}

TEST_F(EndOfRun, MetricsAndCheckpointsComeAsOftenAsTheJobSays) {
  ASSERT_EQ(train("model", {"epochs=2", "metrics.every_steps=3", "checkpoint.keep=4", "checkpoint.every_steps=2"}).code, 0);
  std::vector<std::int64_t> steps;
  for (const nlohmann::json& line : json_lines(read("model/metrics.jsonl")))
    if (line.contains("gradient_norm")) steps.push_back(line["step"]);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{3, 6, 9}));
  EXPECT_EQ(checkpoints("model"), 4u);
  ASSERT_EQ(train("one", {"epochs=2", "checkpoint.keep=1"}).code, 0);
  EXPECT_EQ(checkpoints("one"), 1u);
  ASSERT_EQ(train("two", {"epochs=4"}).code, 0);
  EXPECT_EQ(checkpoints("two"), 2u);
  // Each batch takes longer than this limit.
  ASSERT_EQ(train("minutes", {"epochs=2", "checkpoint.keep=100", "checkpoint.every_minutes=1e-9"}).code, 0);
  EXPECT_EQ(checkpoints("minutes"), 11u);
  EXPECT_EQ(read("minutes/metrics.jsonl"), read("one/metrics.jsonl"));
  // The job in the folder states the default that was used.
  EXPECT_THAT(read("two/job.pbtxt"), AllOf(HasSubstr("every_steps: 100"), HasSubstr("keep: 2")));
}

TEST(RunEnd, IsReachedByWhateverComesFirst) {
  RunEnd end({3, 20, 0});
  end.start();
  EXPECT_FALSE(end.reached({{3, 7}, 19}));
  EXPECT_TRUE(end.reached({{4, 0}, 19}));
  EXPECT_TRUE(end.reached({{2, 5}, 20}));
  EXPECT_TRUE(end.is_last_epoch(3));
  EXPECT_FALSE(RunEnd({0, 20, 0}).reached({{1000, 0}, 19}));
  // 7 batches of epoch 3 remain: 4 updates of 2 batches.
  EXPECT_EQ(end.seconds_left({{3, 3}, 5}, 10, 2, 0.5), 3.5);
  EXPECT_EQ(end.seconds_left({{2, 3}, 16}, 10, 2, 0.5), 4);
}

TEST(RunEnd, TheClockCountsWhenItIsLookedAt) {
  RunEnd end({0, 0, 2});
  end.restore(2 * 3600 - 1e-3);
  EXPECT_EQ(end.seconds(), 2 * 3600 - 1e-3);
  EXPECT_FALSE(end.reached({{9, 9}, 99}));
  end.start();
  while (end.seconds() < 2 * 3600) continue;
  EXPECT_FALSE(end.reached({{9, 9}, 99}));
  EXPECT_TRUE(end.look_at_clock());
  EXPECT_TRUE(end.reached({{1, 0}, 0}));
  EXPECT_FALSE(end.look_at_clock());
  EXPECT_EQ(end.seconds_left({{1, 0}, 0}, 10, 1, 1), 0);
}

}  // namespace
}  // namespace graphrun
