// Signals at many moments of a run: a checkpoint each time, from which the run goes on.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

class Signals : public ProgramTest {};

TEST_F(Signals, EachLeavesACheckpointToGoOnFrom) {
  write_segmenter();
  // Layers wide enough that most moments fall into the steps' products, and epochs enough that none is the last.
  const std::vector<std::string> train = {
      "train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "hidden=128", "--set", "embed=64",
      "--set", "train.epochs=100000"};
  std::int64_t before = 0;
  for (int moment = 0; moment < 8; ++moment) {
    std::vector<std::string> words = train;
    if (exists("model/job.pbtxt")) words.push_back("--resume");
    const Ran ran = graphrun(words, "", 150 + 260 * moment, SIGINT);
    ASSERT_EQ(ran.code, 128 + SIGINT) << ran.err;
    if (!exists("model/job.pbtxt")) continue;  // it was still loading
    ASSERT_TRUE(exists("model/checkpoints")) << ran.err;
    std::int64_t newest = 0;
    for (const auto& entry : std::filesystem::directory_iterator(root_ / "model/checkpoints")) {
      newest = std::max<std::int64_t>(newest, std::stoll(entry.path().filename().string().substr(5)));
    }
    EXPECT_GE(newest, before);
    if (before > 0 && newest > before) {
      EXPECT_THAT(ran.err, HasSubstr("going on from step " + std::to_string(before)));
    }
    before = newest;
  }
  EXPECT_GT(before, 0);
}

}  // namespace
}  // namespace graphrun
