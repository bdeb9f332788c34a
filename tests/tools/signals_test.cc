// Signals at many moments of a run: a checkpoint each time, from which the run goes on.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

class Signals : public ProgramTest {
 protected:
  std::int64_t newest_checkpoint() const {
    std::int64_t newest = -1;
    for (const auto& entry : std::filesystem::directory_iterator(root_ / "model/checkpoints")) {
      newest = std::max<std::int64_t>(newest, std::stoll(entry.path().filename().string().substr(5)));
    }
    return newest;
  }
};

TEST_F(Signals, EachLeavesACheckpointToGoOnFrom) {
  write_segmenter();
  // Layers wide enough that most moments fall into the steps' products, and epochs enough that none is the last.
  const std::vector<std::string> train = {
      "train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "hidden=128", "--set", "embed=64",
      "--set", "train.epochs=100000"};
  std::int64_t before = -1;
  for (int moment = 0; moment < 8 || before <= 0; ++moment) {
    std::vector<std::string> words = train;
    if (moment > 0) words.push_back("--resume");
    // So many microseconds after the metrics are opened: wherever the run is by then.
    const std::string fault = "int:metrics.jsonl:1+" + std::to_string(1 + 61000 * moment);
    const Ran ran = graphrun_under(fault, words);
    ASSERT_EQ(ran.code, 128 + SIGINT) << ran.err;
    if (before >= 0) {
      EXPECT_THAT(ran.err, HasSubstr("going on from step " + std::to_string(before)));
    }
    const std::int64_t newest = newest_checkpoint();
    EXPECT_GE(newest, before);
    before = newest;
  }
}

}  // namespace
}  // namespace graphrun
