// A training whose folder is moved, emptied or removed while it runs.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class MovedFolder : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_language_model();
    setenv("FILE_FAULT_FOLDER", path("model").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("FILE_FAULT_FOLDER");
    ProgramTest::TearDown();
  }

  Ran train(const std::string& out, const std::string& fault, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train",
                                      "graphs/jobs/words.pbtxt",
                                      "--out",
                                      out,
                                      "--threads",
                                      "1",
                                      "--quiet",
                                      "--set",
                                      "train.checkpoint.every_steps=15",
                                      "--set",
                                      "train.epochs=2"};
    words.insert(words.end(), more.begin(), more.end());
    return graphrun_under(fault, words);
  }
};

// While the metrics are opened, between two saves, and within a save: in each case the run resumes in the new place.
TEST_F(MovedFolder, HasTheCheckpointWhereItIsNow) {
  ASSERT_EQ(train("whole", "").code, 0);
  for (const char* fault : {"move:metrics.jsonl:2", "move:metrics.jsonl:3", "move:/checkpoints/step-000030:1"}) {
    const Ran moved = train("model", fault);
    EXPECT_EQ(moved.code, 5) << fault << moved.err;
    EXPECT_THAT(moved.err, AllOf(HasSubstr("error[E0525 moved-folder]: the folder 'model' was moved to '" +
                                           path("model.moved") + "' while the training ran"),
                                 HasSubstr("note: the checkpoint of step "), HasSubstr("is saved there"),
                                 HasSubstr("help: --out " + path("model.moved") + " --resume continues it")))
        << fault;
    EXPECT_FALSE(exists("model")) << fault;
    const Ran rest = train("model.moved", "", {"--resume"});
    ASSERT_EQ(rest.code, 0) << fault << rest.err;
    EXPECT_EQ(read_below("model.moved/best", "parameters.safetensors"), read_below("whole/best", "parameters.safetensors"));
    EXPECT_EQ(read("model.moved/metrics.jsonl"), read("whole/metrics.jsonl"));
    std::filesystem::remove_all(root_ / "model.moved");
  }
}

// Before the run has written anything, and while it writes its files.
TEST_F(MovedFolder, HasTheWholeRunFromItsBeginning) {
  ASSERT_EQ(train("whole", "").code, 0);
  for (const char* fault : {"move:trace.json:1", "move:/vocabularies:2", "move:/manifest.json:2"}) {
    const Ran moved = train("model", fault, {"--profile", "trace.json"});
    EXPECT_EQ(moved.code, 5) << fault << moved.err;
    EXPECT_THAT(moved.err, AllOf(HasSubstr("E0525 moved-folder"), HasSubstr("the checkpoint of step 0 is saved there")));
    EXPECT_FALSE(exists("model")) << fault;
    const Ran rest = train("model.moved", "", {"--resume"});
    ASSERT_EQ(rest.code, 0) << fault << rest.err;
    EXPECT_EQ(read("model.moved/metrics.jsonl"), read("whole/metrics.jsonl"));
    std::filesystem::remove_all(root_ / "model.moved");
  }
}

TEST_F(MovedFolder, IsToldOfWhereItWasRemoved) {
  const Ran removed = train("model", "remove:metrics.jsonl:2");
  EXPECT_EQ(removed.code, 5) << removed.err;
  EXPECT_THAT(removed.err,
              AllOf(HasSubstr("error[E0526 removed-folder]: the folder 'model' was removed while the training ran"),
                    HasSubstr("note: nothing is left of the run"), HasSubstr("help: SIGINT ends a training")));
  EXPECT_FALSE(exists("model"));
  const Ran emptied = train("model", "empty:metrics.jsonl:2");
  EXPECT_EQ(emptied.code, 5) << emptied.err;
  EXPECT_THAT(emptied.err, HasSubstr("the run in 'model' was removed"));
}

}  // namespace
}  // namespace graphrun
