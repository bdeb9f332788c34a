// The program itself on the emulated device: a job trained and a model used as on the CPU.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

class TrainOnCuda : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
    setenv("GRAPHRUN_CUDA_LIBRARY", GRAPHRUN_BINARY_DIR "/libgraphrun_cuda_emulated.so", 1);
  }
  void TearDown() override {
    unsetenv("GRAPHRUN_CUDA_LIBRARY");
    ProgramTest::TearDown();
  }
  std::vector<double> losses(const std::string& model) const {
    std::vector<double> all;
    std::istringstream in(read(model + "/metrics.jsonl"));
    for (std::string line; std::getline(in, line);) {
      const nlohmann::json entry = nlohmann::json::parse(line);
      if (entry.contains("loss")) all.push_back(entry["loss"]);
    }
    return all;
  }
};

TEST_F(TrainOnCuda, LearnsAndSegmentsAsOnTheCpu) {
  std::vector<std::string> segmented;
  for (const std::string device : {"cpu", "cuda"}) {
    const Ran trained = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", device, "--device", device});
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_THAT(trained.err, HasSubstr(device == "cuda" ? "device: cuda, an emulated device; compiled" : "device: cpu, "));
    segmented.push_back(graphrun({"infer", device, "--device", device}, "我天上大家\n中国人你\n").out);
  }
  const std::vector<double> cpu = losses("cpu"), cuda = losses("cuda");
  ASSERT_EQ(cpu.size(), cuda.size());
  ASSERT_GE(cpu.size(), 8u);
  for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(cuda[i], cpu[i], 1e-5 + 1e-3 * cpu[i]) << i;
  EXPECT_EQ(segmented[0], segmented[1]);
  EXPECT_NE(segmented[1], "");
}

// What a run on a device leaves goes on bit for bit, as on the CPU.
TEST_F(TrainOnCuda, GoesOnFromACheckpoint) {
  const auto train = [&](const std::string& out, const std::string& epochs, bool goes_on = false) {
    std::vector<std::string> words = {"train", "graphs/jobs/segment.pbtxt", "--out", out, "--device", "cuda",
                                      "--set", "train.epochs=" + epochs};
    if (goes_on) words.push_back("--resume");
    return graphrun(words);
  };
  ASSERT_EQ(train("whole", "2").code, 0);
  ASSERT_EQ(train("parts", "1").code, 0);
  const Ran more = train("parts", "2", true);
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(losses("whole"), losses("parts"));
}

}  // namespace
}  // namespace graphrun
