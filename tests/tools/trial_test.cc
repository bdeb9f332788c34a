// graphrun train --try: a few updates, and the forecast of the whole run.
#include "tools/runs/trial.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Trial : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
  static std::vector<std::string> words(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"train", "graphs/jobs/segment.pbtxt", "--threads", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::set<std::string> files() const {
    std::set<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      const std::string name = entry.path().filename().string();
      if (name != "stdin" && name != "stdout" && name != "stderr") all.insert(entry.path().string());
    }
    return all;
  }
};

TEST_F(Trial, TellsWhatTheRunTakesAndLeavesNothing) {
  const std::set<std::string> before = files();
  const Ran ran = graphrun(words({"--try", "7"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("an update     "), HasSubstr("a validation  "),
                             ContainsRegex("an epoch      5 batches, 5 updates, [0-9.:e-]+( s)?\n"),
                             HasSubstr("the run       ends after 8 epochs: 40 updates, 8.0 epochs, 8 validations\n"),
                             ContainsRegex("time          [0-9.:e-]+( s)?: "), Not(HasSubstr("0:00")),
                             HasSubstr(" MB resident at most\n"), HasSubstr(" MB of it for the largest batch, 8 rows of ")));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("data: train 40 examples"), HasSubstr("trying 7 updates"), Not(HasSubstr("epoch 1/"))));
  EXPECT_EQ(files(), before);
  ASSERT_EQ(graphrun(words({"--try", "1", "--out", "some/model", "--quiet"})).code, 0);
  EXPECT_EQ(files(), before);
}

TEST_F(Trial, LeavesNothingWhereASignalComes) {
  const std::set<std::string> before = files();
  for (const char* signal : {"INT", "TERM"}) {
    std::vector<std::string> all = {"--preserve-status", "-s", signal, "2", tests::build_folder() + "/graphrun"};
    for (const std::string& word : words({"--try", "1000000000", "--out", "model"})) all.push_back(word);
    const Ran ran = run("/usr/bin/timeout", all);
    EXPECT_EQ(ran.code, 128 + (std::string(signal) == "INT" ? SIGINT : SIGTERM)) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("no files are left"));
    EXPECT_EQ(files(), before);
  }
}

TEST_F(Trial, RefusesWhatMakesNoSenseBesideIt) {
  for (const std::string other : {"--resume", "--tensorboard"}) {
    const Ran ran = graphrun(words({"--try", "3", "--out", "model", other}));
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("--try and " + other + " do not go together"));
  }
  EXPECT_THAT(graphrun(words({"--try", "3", "--profile", "x"})).err, HasSubstr("--try and --profile do not go together"));
  for (const std::string wrong : {"0", "-1", "x", "", "2.5"}) {
    const Ran ran = graphrun(words({"--try", wrong}));
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_THAT(ran.err, HasSubstr("--try takes a whole number from 1, found")) << wrong;
  }
  const Ran diverged =
      graphrun(words({"--try", "9", "--set", "train.clip.global_norm=0", "--set", "train.optimizer.sgd.learning_rate=1e30"}));
  EXPECT_EQ(diverged.code, 6);
  EXPECT_THAT(diverged.err, HasSubstr("E0670"));
  write("model/job.pbtxt", "");
  const Ran taken = graphrun(words({"--try", "3", "--out", "model"}));
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.err, HasSubstr("E0520"));
}

TEST_F(Trial, WithoutDataToValidateOnItTakesTheTestData) {
  EXPECT_THAT(graphrun(words({"--try", "2", "--set", "data.valid=", "--set", "train.validate.keep_highest="})).err,
              HasSubstr("E0410"));
  std::string job = read("graphs/jobs/segment.pbtxt");
  job.erase(job.find("  validate {"), job.find("epochs: 8") - job.find("  validate {"));
  write("graphs/jobs/segment.pbtxt", job);
  EXPECT_THAT(graphrun(words({"--try", "2", "--set", "data.valid="})).out,
              AllOf(HasSubstr("of the test data: there is no other"), HasSubstr(", 0 validations")));
  EXPECT_THAT(graphrun(words({"--try", "2", "--set", "data.valid=", "--set", "data.test="})).out,
              HasSubstr("a validation  none: there is no data for it"));
}

TEST(TrialText, IsATable) {
  TrialFigures figures;
  figures.work = {.updates = 10, .examples = 320, .tokens = 6400, .seconds = 2.5};
  figures.first = 1.25, figures.least = 0.125, figures.most = 0.5;
  figures.validated = "valid";
  figures.validation = {.examples = 500, .tokens = 10000, .seconds = 12.5};
  figures.shape = {433, 2, true};
  figures.end.epochs = 50;
  figures.rule = {2, 0, 0};
  figures.may_end_early = true;
  figures.more_evaluations = 1;
  figures.largest_rows = 64, figures.largest_steps = 1;
  figures.values = 45'200'000, figures.variables = 12'000'000, figures.resident = 612'340'000;
  EXPECT_EQ(trial_text(figures),
            "an update     0.25 s, from 0.125 s to 0.5 s; the first took 1.25 s\n"
            "              4 updates/s, 128 examples/s, 2.6k tokens/s\n"
            "a validation  12.5 s, 40 examples/s, 800 tokens/s\n"
            "an epoch      433 batches, 217 updates, 0:54\n"
            "the run       ends at the latest after 50 epochs: 10850 updates, 50.0 epochs, 25 validations\n"
            "time          50:38: 45:13 of updates, 5:25 of validations, those of the end included; saves are not counted\n"
            "memory        612.3 MB resident at most\n"
            "              45.2 MB of it for the largest batch, 64 rows of 1 step\n"
            "              12.0 MB for parameters, optimizer and states; a checkpoint takes as much on disk\n");
}

// Ends within an epoch and at the end of one, by each rule; some limited by hours.
TEST(RunLength, IsHowFarTheRunGoes) {
  using End = RunLength::End;
  const auto length = [](const EndRule& end, const ValidateRule& rule, const RunShape& shape) {
    const RunLength run = length_of_run(end, rule, shape, 1, 10);
    return std::make_tuple(run.updates, run.validations, run.end);
  };
  EXPECT_EQ(length({3, 0, 0}, {1, 0, 0}, {10, 1, true}), std::make_tuple(30, 3, End::kEpochs));
  EXPECT_EQ(length({3, 0, 0}, {2, 0, 0}, {10, 1, true}), std::make_tuple(30, 2, End::kEpochs));
  EXPECT_EQ(length({3, 0, 0}, {2, 0, 0}, {10, 1, false}), std::make_tuple(30, 0, End::kEpochs));
  EXPECT_EQ(length({3, 25, 0}, {1, 0, 0}, {10, 1, true}), std::make_tuple(25, 3, End::kUpdates));
  EXPECT_EQ(length({3, 20, 0}, {0, 7, 0}, {10, 1, true}), std::make_tuple(20, 3, End::kUpdates));
  EXPECT_EQ(length({3, 21, 0}, {0, 7, 0}, {10, 1, true}), std::make_tuple(21, 3, End::kUpdates));
  EXPECT_EQ(length({3, 0, 0}, {0, 0, 4}, {10, 3, true}), std::make_tuple(12, 12, End::kEpochs));
  // 10 updates and a validation take 20 seconds: 90 seconds are enough for 4 such epochs and 10 more updates.
  EXPECT_EQ(length({0, 0, 90. / 3600}, {1, 0, 0}, {10, 1, true}), std::make_tuple(50, 5, End::kHours));
  EXPECT_EQ(length({0, 0, 85. / 3600}, {1, 0, 0}, {10, 1, true}), std::make_tuple(45, 5, End::kHours));
  EXPECT_EQ(length({4, 0, 90. / 3600}, {1, 0, 0}, {10, 1, true}), std::make_tuple(40, 4, End::kEpochs));
}

// The count equals that of a real run.
TEST_F(Trial, CountsTheValidationsThatARunHas) {
  struct Case {
    const char *end, *rule, *accumulate;
  };
  for (const Case& one : {Case{"epochs=3", "every_epochs=2", "1"},
                          {"updates=13", "every_epochs=2", "2"},
                          {"updates=10", "every_steps=5", "1"},
                          {"updates=13", "every_steps=4", "2"},
                          {"epochs=3", "every_steps=4", "2"},
                          {"updates=13", "times_per_epoch=2", "1"},
                          {"updates=8", "times_per_epoch=2", "2"},
                          {"updates=7", "times_per_epoch=9", "1"}}) {
    std::vector<std::string> sets;
    for (const std::string& set :
         {std::string("epochs=0"), std::string(one.end), std::string("validate.every_epochs=0"),
          "validate." + std::string(one.rule), "accumulate=" + std::string(one.accumulate), std::string("per=1")})
      sets.insert(sets.end(), {"--set", "train." + set});
    std::vector<std::string> trained = words({"--out", "model", "--quiet"}), tried = words({"--try", "1", "--quiet"});
    trained.insert(trained.end(), sets.begin(), sets.end());
    tried.insert(tried.end(), sets.begin(), sets.end());
    ASSERT_EQ(graphrun(trained).code, 0);
    std::int64_t validations = 0, updates = 0;
    for (const nlohmann::json& line : json_lines(read("model/metrics.jsonl"))) {
      validations += line.contains("valid") ? 1 : 0;
      updates = std::max(updates, line.value("step", std::int64_t{0}));
    }
    fs::remove_all(root_ / "model");
    EXPECT_THAT(graphrun(tried).out, AllOf(HasSubstr(": " + std::to_string(updates) + " updates, "),
                                           HasSubstr(" epochs, " + std::to_string(validations) + " validation")))
        << one.end << " " << one.rule << " " << one.accumulate;
  }
}

}  // namespace
}  // namespace graphrun
