// A run that is killed inside a save, or finds the disk full there, and is resumed has the result of an undisturbed run.
// tests/faults/kill_and_resume tests many more instants of longer runs.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <sstream>

#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class Killed : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_language_model();
  }

  // Starts the run in `out` under tests/faults/file_faults.cc; without a fault if `fault` is empty.
  Ran start(const std::string& out, const std::string& fault, const std::vector<std::string>& sets = {}) const {
    std::vector<std::string> words = {"train",     "graphs/jobs/words.pbtxt",
                                      "--out",     out,
                                      "--threads", "1",
                                      "--set",     "train.checkpoint.every_steps=15",
                                      "--set",     "train.epochs=2",
                                      "--set",     "train.optimizer.adam.learning_rate=0.01"};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    if (exists(out + "/manifest.json")) words.push_back("--resume");
    return graphrun_under(fault, words);
  }

  // The numbers, from 1, of the operations of this kind among those on paths that contain `text`.
  std::vector<int> operations(const std::string& log, const std::string& text, const std::string& kind) const {
    std::vector<int> found;
    std::istringstream lines(read(log));
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.find(text) == std::string::npos) continue;
      ++number;
      if (line.find(kind) != std::string::npos) found.push_back(number);
    }
    return found;
  }

  // The contents by file: parameters, optimizer, states and state of every checkpoint, the best model with its reports,
  // metrics.
  std::map<std::string, std::string> left_by(const std::string& out) const {
    std::map<std::string, std::string> files = {{"metrics.jsonl", read(out + "/metrics.jsonl")}};
    for (const char* kind : {"checkpoints", "best", "candidates"}) {
      if (!exists(out + "/" + kind)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root_ / out / kind)) {
        if (!entry.is_regular_file()) continue;
        const std::string name = fs::relative(entry.path(), root_ / out).string();
        files[name] = read(out + "/" + name);
      }
    }
    return files;
  }
};

TEST_F(Killed, InsideItsSavesARunLosesNothing) {
  ASSERT_EQ(start("whole", "").code, 0);
  // Partial writes, unfinished and unsynced files, between the renames, while old checkpoints are removed; and between saves.
  for (const char* fault : {"kill:/checkpoints/:9", "kill:/checkpoints/:33", "kill:/checkpoints:100", "kill:metrics.jsonl:4",
                            "kill:/best/:9", "kill:manifest.json:6", "kill:/checkpoints/:180"}) {
    const Ran ran = start("parts", fault);
    ASSERT_EQ(ran.code, 128 + SIGKILL) << fault << "\n" << ran.err;
  }
  // Some time after an operation, at an unknown instant; a fast run may have ended by then.
  EXPECT_THAT(start("parts", "kill:/checkpoints/:20+1500").code, AnyOf(0, 128 + SIGKILL));
  const Ran last = start("parts", "");
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(left_by("parts"), left_by("whole"));
}

// The last save replaces the checkpoint of the last epoch's end. A kill leaves that one partially removed, and no later save
// removes it.
TEST_F(Killed, InItsLastSaveARunLeavesNothingBehind) {
  setenv("FILE_FAULT_LOG", (root_ / "log").c_str(), 1);
  ASSERT_EQ(start("whole", "full:/nothing/:1").code, 0);
  unsetenv("FILE_FAULT_LOG");
  const std::vector<int> renames = operations("log", "/checkpoints/", " rename ");
  ASSERT_FALSE(renames.empty());
  for (const int after : {1, 2}) {
    fs::remove_all(root_ / "parts");
    EXPECT_EQ(start("parts", "kill:/checkpoints/:" + std::to_string(renames.back() + after)).code, 128 + SIGKILL);
    ASSERT_NE(left_by("parts"), left_by("whole")) << "nothing was left half removed";
    const Ran last = start("parts", "");
    ASSERT_EQ(last.code, 0) << last.err;
    EXPECT_EQ(left_by("parts"), left_by("whole"));
  }
}

// A run that is killed after it has kept a better model, but before the checkpoint of that step, and that continues with an
// earlier end, has the model of this end, and the mean of the models up to this end.
TEST_F(Killed, BeforeTheCheckpointOfABetterModelARunKeepsTheFormerOne) {
  for (const std::vector<std::string>& average : {std::vector<std::string>{}, {"train.average.last=2"}}) {
    const std::string name = "run" + std::to_string(average.size());
    std::vector<std::string> two_epochs = average;  // with a checkpoint after each
    two_epochs.insert(two_epochs.end(), {"train.checkpoint.every_steps=0", "train.epochs=2"});
    std::vector<std::string> three_epochs = two_epochs;
    three_epochs.back() = "train.epochs=3";
    ASSERT_EQ(start(name + "whole", "", two_epochs).code, 0);
    setenv("FILE_FAULT_LOG", (root_ / "log").c_str(), 1);
    fs::remove(root_ / "log");
    ASSERT_EQ(start(name + "long", "full:/nothing/:1", three_epochs).code, 0);
    unsetenv("FILE_FAULT_LOG");
    // The first write to a checkpoint after the third epoch's model is in place.
    std::istringstream lines(read("log"));
    int number = 0, models = 0;
    for (std::string line; models < 3 && std::getline(lines, line);) {
      number += line.find("/checkpoints/") != std::string::npos;
      models += line.find("/best/") != std::string::npos && line.find(" rename ") != std::string::npos &&
                line.find(".partial") == std::string::npos;
    }
    ASSERT_EQ(models, 3);
    EXPECT_EQ(start(name, "kill:/checkpoints/:" + std::to_string(number + 1), three_epochs).code, 128 + SIGKILL);
    const Ran last = start(name, "", two_epochs);
    ASSERT_EQ(last.code, 0) << last.err;
    EXPECT_TRUE(read_below(name + "/best", "parameters.safetensors") ==
                read_below(name + "whole/best", "parameters.safetensors"))
        << name;
  }
}

// While models that are no longer part of the mean of the best are removed, file by file.
TEST_F(Killed, AmongItsBestModelsARunLosesNothing) {
  const std::vector<std::string> sets = {"train.average.best=2", "train.validate.keep_lowest=perplexity",
                                         "train.validate.every_epochs=0", "train.validate.times_per_epoch=4"};
  setenv("FILE_FAULT_LOG", (root_ / "log").c_str(), 1);
  ASSERT_EQ(start("whole", "full:/nothing/:1", sets).code, 0);
  unsetenv("FILE_FAULT_LOG");
  const std::vector<int> removals = operations("log", "/candidates/", " remove ");
  ASSERT_GE(removals.size(), 4u);
  for (std::size_t i = 0; i < removals.size() && i < 6; i += 2) {
    const std::string parts = "parts" + std::to_string(i);
    EXPECT_EQ(start(parts, "kill:/candidates/:" + std::to_string(removals[i]), sets).code, 128 + SIGKILL);
    const Ran last = start(parts, "", sets);
    ASSERT_EQ(last.code, 0) << removals[i] << "\n" << last.err;
    EXPECT_EQ(left_by(parts), left_by("whole"));
  }
}

TEST_F(Killed, AFullDiskLeavesTheCheckpointBeforeIt) {
  ASSERT_EQ(start("whole", "").code, 0);
  const Ran full = start("parts", "full:/checkpoints/:60");
  EXPECT_EQ(full.code, 5) << full.err;
  EXPECT_THAT(full.err,
              AllOf(HasSubstr("error[E0505 no-room-on-disk]: cannot write 'parts/checkpoints/step-000"), HasSubstr("(after "),
                    HasSubstr(" bytes): No space left on device"), HasSubstr("help: free space")));
  EXPECT_FALSE(fs::exists(root_ / "parts/checkpoints/step-000015.partial"));
  const Ran metrics = start("parts", "full:metrics.jsonl:2");
  EXPECT_EQ(metrics.code, 5) << metrics.err;
  EXPECT_THAT(metrics.err, AllOf(HasSubstr("error[E0505"), HasSubstr("parts/metrics.jsonl"), HasSubstr("(after ")));
  const Ran rest = start("parts", "");
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, AllOf(HasSubstr("continuing from step"), Not(HasSubstr("warning"))));
  EXPECT_EQ(left_by("parts"), left_by("whole"));
}

}  // namespace
}  // namespace graphrun
