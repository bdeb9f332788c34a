// Resuming a run whose folder, files or job have changed.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/tools/program_fixture.h"
#include "tools/run/same_run.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Resume : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
    ASSERT_EQ(graphrun(words(3)).code, 0);
  }
  std::vector<std::string> words(int epochs) const {
    return {"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=" + std::to_string(epochs)};
  }
  Ran resumed(int epochs, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = words(epochs);
    all.push_back("--resume");
    all.insert(all.end(), more.begin(), more.end());
    return graphrun(all);
  }
  // The folders of a kind, oldest first.
  std::vector<std::string> checkpoints(const std::string& kind) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_ / "model" / kind)) {
      names.push_back("model/" + kind + "/" + entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void cut(const std::string& checkpoint) const { fs::resize_file(root_ / checkpoint / "parameters.safetensors", 100); }
};

TEST_F(Resume, GoesBackToTheCheckpointBeforeADamagedOneAndSaysSo) {
  const std::vector<std::string> kept = checkpoints("checkpoints");
  ASSERT_EQ(kept.size(), 2u);
  fs::create_directories(root_ / "model/checkpoints/step-999999.partial");
  cut(kept[1]);
  const Ran ran = resumed(4);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("warning[E0685"), HasSubstr(kept[1]), HasSubstr("parameters.safetensors"),
                             HasSubstr("continuing from 'model/checkpoints")));
}

TEST_F(Resume, RefusesARunWhoseEveryCheckpointIsDamaged) {
  for (const std::string& checkpoint : checkpoints("checkpoints")) cut(checkpoint);
  const std::string metrics = read("model/metrics.jsonl");
  const Ran ran = resumed(4);
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("error[E0685"), HasSubstr("parameters.safetensors"), HasSubstr("help: ")));
  EXPECT_EQ(read("model/metrics.jsonl"), metrics);
}

TEST_F(Resume, RefusesAnotherJobAndNamesTheFields) {
  const Ran ran = resumed(4, {"--seed", "5", "--set", "data.batch.rows=4"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("E0523"), HasSubstr("note: data.batch.rows: 8 -> 4"), HasSubstr("train.seed"),
                             Not(HasSubstr("'}'"))));
}

TEST_F(Resume, TakesOtherSavesAndWhatTheLogShows) {
  const std::string before = read("model/metrics.jsonl");
  const Ran ran = resumed(4, {"--set", "train.checkpoint.keep=1", "--set", "train.checkpoint.every_minutes=30", "--set",
                              "doc=longer", "--set", "train.shard_optimizer=true"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(checkpoints("checkpoints").size(), 1u);
  EXPECT_THAT(read("model/metrics.jsonl"), testing::StartsWith(before.substr(0, before.find("\"epoch\": 2"))));
}

TEST_F(Resume, RefusesAnEditedGraphAndNamesTheLine) {
  std::string cell = read("graphs/cells/atr.pbtxt");
  write("graphs/cells/atr.pbtxt", "# edited\n" + cell);
  const Ran ran = resumed(4);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("E0523"), HasSubstr("cells/atr.pbtxt"), HasSubstr("line 1"), HasSubstr("'# edited'")));
  write("graphs/cells/atr.pbtxt", cell);
  EXPECT_EQ(resumed(4).code, 0);
}

TEST_F(Resume, RefusesOtherDataAndNamesTheFile) {
  const std::string data = read("data/train.seg");
  write("data/train.seg", data + "我 你\n");
  const Ran ran = resumed(4);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("E0524"), HasSubstr("data/train.seg"), Not(HasSubstr("dev.seg"))));
}

// Word vectors and another model, which only a new run reads.
TEST_F(Resume, ContinuesWithoutTheFilesOfTheStartAndReportsChanges) {
  std::string vectors = "我";
  for (int i = 0; i < 16; ++i) vectors += " 0.5";
  write("vectors.txt", vectors + "\n");
  std::string job = read("graphs/jobs/segment.pbtxt");
  job.insert(job.find("train {") + 7,
             " start { model: \"../../model\" match: \"W\" }\n"
             "  initialize { match: \"E\" vectors: \"../../vectors.txt\" field: \"characters\" }\n");
  write("graphs/jobs/second.pbtxt", job);
  std::vector<std::string> command = {"train", "graphs/jobs/second.pbtxt", "--out", "second", "--set", "train.epochs=1"};
  const Ran begun = graphrun(command);
  ASSERT_EQ(begun.code, 0) << begun.err;
  EXPECT_THAT(read("second/data.json"),
              AllOf(HasSubstr("vectors.txt"), HasSubstr("model/manifest.json"), HasSubstr("parameters.safetensors")));
  command.back() = "train.epochs=2";
  command.push_back("--resume");
  EXPECT_THAT(graphrun(command).err, Not(HasSubstr("warning")));
  write("vectors.txt", vectors + " \n");
  fs::remove_all(root_ / "model");
  command[5] = "train.epochs=3";
  const Ran ran = graphrun(command);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("warning[E0524 other-data]"), HasSubstr("vectors.txt' has changed"),
                             HasSubstr("model/manifest.json' is gone")));
}

TEST_F(Resume, TheFolderKeepsTheJobThatDumpJobPrints) {
  std::vector<std::string> dump = words(3);
  dump.emplace_back("--dump-job");
  const std::string whole = graphrun(dump).out;
  EXPECT_THAT(whole, HasSubstr("every_epochs: 1"));
  EXPECT_EQ(read("model/job.pbtxt"), whole);
}

TEST_F(Resume, AFolderOfAnOlderProgramHasRecordedNoData) {
  std::vector<Diagnostic> warnings;
  EXPECT_NO_THROW(check_same_data(ModelLayout{path("none")}, warnings));
  EXPECT_TRUE(warnings.empty());
}

TEST_F(Resume, SaysHowManyEpochsAreDone) { EXPECT_THAT(resumed(1).err, HasSubstr("is finished: 3 epochs done")); }

TEST_F(Resume, ADamagedModelIsNotCalledUntrained) {
  for (const std::string& checkpoint : checkpoints("best")) cut(checkpoint);
  for (const std::string command : {"infer", "evaluate"}) {
    const Ran ran = graphrun({command, "model"}, "我\n");
    EXPECT_EQ(ran.code, 4);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("E0665"), HasSubstr("parameters.safetensors"), Not(HasSubstr("E0666"))));
  }
}

}  // namespace
}  // namespace graphrun
