// The program on the emulated device: it trains a job and uses the model as on the CPU.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/processor.h"
#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

class TrainOnCuda : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
    setenv("GRAPHRUN_CUDA_LIBRARY", (tests::build_folder() + "/libgraphrun_cuda_emulated.so").c_str(), 1);
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

// A device computes with the job's product_precision if it can.
TEST_F(TrainOnCuda, RoundsProductsAsTheJobSays) {
  const auto run = [&](const std::string& out, const std::string& device, const std::string& precision) {
    const Ran trained = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", out, "--device", device, "--set",
                                  "product_precision=" + precision, "--set", "train.epochs=2"});
    EXPECT_EQ(trained.code, 0) << trained.err;
    const bool rounds = device == "cuda" ? precision != "FLOAT32" : precision == "BFLOAT16" && multiplies_bfloat16();
    EXPECT_EQ(trained.err.find(", products in " + precision) != std::string::npos, rounds) << trained.err;
    EXPECT_EQ(trained.err.find(", products in float32, since") != std::string::npos, !rounds && precision != "FLOAT32")
        << trained.err;
    return losses(out);
  };
  const std::vector<double> on_cpu = run("cpu", "cpu", "FLOAT32"), rounded = run("cpu_rounded", "cpu", "BFLOAT16");
  EXPECT_EQ(run("cpu_tf32", "cpu", "TF32"), on_cpu);
  ASSERT_EQ(rounded.size(), on_cpu.size());
  EXPECT_EQ(rounded != on_cpu, multiplies_bfloat16());
  for (std::size_t i = 0; i < rounded.size(); ++i) EXPECT_NEAR(rounded[i], on_cpu[i], 0.1 * (0.1 + std::abs(on_cpu[i]))) << i;
  const std::vector<double> exact = run("exact", "cuda", "FLOAT32");
  for (const auto& [precision, near] : {std::pair("TF32", 0.01), std::pair("BFLOAT16", 0.1)}) {
    const std::vector<double> found = run(precision, "cuda", precision);
    ASSERT_EQ(found.size(), exact.size());
    EXPECT_NE(found, exact);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], exact[i], near * (0.1 + std::abs(exact[i]))) << precision << " " << i;
  }
  // It is stored with the model, and an evaluation can override it.
  const auto loss = [&](const std::vector<std::string>& rest) {
    std::vector<std::string> words = {"evaluate", "BFLOAT16", "--json"};
    words.insert(words.end(), rest.begin(), rest.end());
    const Ran ran = graphrun(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  EXPECT_NE(loss({"--device", "cuda"}), loss({"--device", "cuda", "--set", "product_precision=FLOAT32"}));
  const Ran mistaken = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "no", "--set", "product_precision=TF23"});
  EXPECT_EQ(mistaken.code, 3);
  EXPECT_THAT(mistaken.err, HasSubstr("TF32"));
  const Ran other = graphrun(
      {"train", "graphs/jobs/segment.pbtxt", "--out", "TF32", "--resume", "--device", "cuda", "--set", "train.epochs=2"});
  EXPECT_EQ(other.code, 2) << "a run is resumed as it was begun";
}

// Steps are counted, logged and saved with their own numbers and rates, although the loss of a step is read after the next step
// has begun. If an update has several batches, the loss is read before.
TEST_F(TrainOnCuda, NotesStepsAsOnTheCpu) {
  const auto notes = [&](const std::string& out, const std::string& device, const std::string& accumulate) {
    const Ran trained = graphrun({"train",    "graphs/jobs/segment.pbtxt",
                                  "--out",    out,
                                  "--device", device,
                                  "--set",    "train.epochs=10",
                                  "--set",    "train.validate.every_epochs=0",
                                  "--set",    "train.validate.every_steps=7",
                                  "--set",    "train.checkpoint.every_steps=5",
                                  "--set",    "train.metrics.every_steps=10",
                                  "--set",    "train.schedule.warmup_steps=500",
                                  "--set",    "train.accumulate=" + accumulate,
                                  "--set",    "train.minimize=sum(margin)",
                                  "--set",    "train.per=sum(lengths)"});
    EXPECT_EQ(trained.code, 0) << trained.err;
    std::vector<nlohmann::json> all;
    std::istringstream in(read(out + "/metrics.jsonl"));
    for (std::string line; std::getline(in, line);) {
      if (const nlohmann::json entry = nlohmann::json::parse(line); entry.contains("step")) all.push_back(entry);
    }
    return all;
  };
  for (const std::string accumulate : {"1", "2"}) {
    const auto cpu = notes("cpu" + accumulate, "cpu", accumulate), cuda = notes("cuda" + accumulate, "cuda", accumulate);
    EXPECT_GT(cpu.size(), 10u);
    ASSERT_EQ(cpu.size(), cuda.size());
    bool norms = false;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      for (const char* exact : {"step", "epoch", "learning_rate"}) {
        EXPECT_EQ(cuda[i].value(exact, nlohmann::json()), cpu[i].value(exact, nlohmann::json())) << i;
      }
      for (const char* number : {"loss", "gradient_norm"}) {
        ASSERT_EQ(cuda[i].contains(number), cpu[i].contains(number)) << i;
        if (!cpu[i].contains(number)) continue;
        const double x = cpu[i][number];
        EXPECT_NEAR(cuda[i][number].get<double>(), x, 1e-5 + 1e-3 * x) << number << " " << i;
        norms |= std::string(number) == "gradient_norm";
      }
    }
    EXPECT_TRUE(norms || accumulate == "2");
  }
}

// If a loss is read after the next step has begun, and if it is read before a checkpoint is saved.
TEST_F(TrainOnCuda, TellsTheStepThatDiverged) {
  for (const std::string every : {"0", "1"}) {
    std::vector<std::string> told;
    for (const std::string device : {"cpu", "cuda"}) {
      const std::string out = device + every;
      const Ran ran =
          graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", out, "--device", device, "--set", "train.clip.global_norm=0",
                    "--set", "train.optimizer.sgd.learning_rate=1e30", "--set", "train.checkpoint.every_steps=" + every});
      EXPECT_EQ(ran.code, 6) << ran.err;
      EXPECT_THAT(ran.err, HasSubstr(every == "0" ? "repeating 2 steps from '" + out + "/checkpoints/step-000000'"
                                                  : "repeating 1 step from '" + out + "/checkpoints/step-000001'"));
      EXPECT_FALSE(exists(out + "/checkpoints/step-000002")) << "of numbers that are not finite";
      const std::size_t begin = ran.err.find("error[E0670");
      ASSERT_NE(begin, std::string::npos) << ran.err;
      const std::size_t end = ran.err.find("note: the last checkpoint", begin);
      told.push_back(ran.err.substr(begin, end - begin));
    }
    EXPECT_EQ(told[0], told[1]);
    EXPECT_THAT(told[1], HasSubstr("diverged]: step 2 (epoch 1, batch 2): loss "));
  }
}

// A run on a device resumes bit for bit, as on the CPU.
TEST_F(TrainOnCuda, ContinuesFromACheckpoint) {
  const auto train = [&](const std::string& out, const std::string& epochs, bool continues = false) {
    std::vector<std::string> words = {"train", "graphs/jobs/segment.pbtxt", "--out", out, "--device", "cuda",
                                      "--set", "train.epochs=" + epochs};
    if (continues) words.push_back("--resume");
    return graphrun(words);
  };
  ASSERT_EQ(train("whole", "2").code, 0);
  ASSERT_EQ(train("parts", "1").code, 0);
  const Ran more = train("parts", "2", true);
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(losses("whole"), losses("parts"));
}

// A signal arrives while a step is running: its loss is read before the checkpoint is saved, and counted once.
TEST_F(TrainOnCuda, ContinuesAfterASignal) {
  const auto train = [&](const std::string& out, const std::string& fault) {
    std::vector<std::string> words = {"train", "graphs/jobs/segment.pbtxt",      "--device", "cuda", "--set", "train.epochs=6",
                                      "--set", "train.checkpoint.every_steps=4", "--out",    out};
    if (exists(out + "/job.pbtxt")) words.push_back("--resume");
    return graphrun_under(fault, words);
  };
  ASSERT_EQ(train("whole", "").code, 0);
  // Midway, with a step running on the device.
  for (const char* fault : {"int:/checkpoints/:30", "int:/checkpoints/:30+700"}) {
    const Ran ran = train("parts", fault);
    ASSERT_EQ(ran.code, 128 + SIGINT) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("stopped by signal"));
  }
  ASSERT_EQ(train("parts", "").code, 0);
  EXPECT_EQ(losses("whole"), losses("parts"));
}

}  // namespace
}  // namespace graphrun
