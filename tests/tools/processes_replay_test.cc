// graphrun verify and graphrun replay repeat in one process what several processes have made.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/tools/processes_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ReplayOfProcesses : public SeveralProcessesOf {
 protected:
  // Verifies the run up to an update. `tensors`: what the receipt says of those of a checkpoint.
  void expect_verified(const std::string& out, int steps, const std::string& tensors) const {
    const Ran ran = graphrun({"verify", out, "--steps", std::to_string(steps), "--json"});
    ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
    const auto receipt = nlohmann::json::parse(ran.out);
    EXPECT_EQ(receipt["same"], true);
    EXPECT_THAT(receipt["metrics"].get<std::string>(), testing::EndsWith(", the same bits"));
    EXPECT_THAT(receipt["tensors"].get<std::string>(), HasSubstr(tensors));
  }
  // The figures of an update are those that the run recorded, to the last digit.
  void expect_replayed(const std::string& out, int step, const std::string& from) const {
    const Ran ran = graphrun({"replay", out, "--step", std::to_string(step), "--watch", "*"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("; repeated from " + from + " on the CPU\n"));
    for (const auto& line : json_lines(read(out + "/metrics.jsonl"))) {
      if (!line.contains("gradient_norm") || line["step"] != step) continue;
      EXPECT_THAT(ran.out, HasSubstr(fmt::format("loss {}, norm of the gradient {}, ", line["loss"].get<double>(),
                                                 line["gradient_norm"].get<double>())));
      return;
    }
    ADD_FAILURE() << "no line of update " << step;
  }
};

INSTANTIATE_TEST_SUITE_P(Libraries, ReplayOfProcesses, testing::Values("openmpi", "mpich"),
                         [](const auto& info) { return info.param; });

// Updates of four batches and of one; with validations within them and what is watched.
TEST_P(ReplayOfProcesses, RepeatsUpdatesOfSeveralBatches) {
  const Words more = {"--set", "train.validate.every_epochs=0", "--set", "train.validate.times_per_epoch=3",
                      "--set", "train.watch.match=*",           "--set", "train.watch.every_steps=1"};
  const Ran ran = mpirun(GetParam(), 3, job("out", more));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_lines(read("out/starts.jsonl"))[0]["processes"], 3);
  expect_verified("out", 6, "of the checkpoint of update 6, the same bits");
  expect_verified("out", 3, "no checkpoint of update 3 is kept");
  expect_replayed("out", 1, "the beginning");
  expect_replayed("out", 5, "the checkpoint of update 4");
  expect_replayed("out", 6, "the checkpoint of update 4");
}

// Checkpoints of a sharded optimizer have whole slots. The schedule goes back to the best parameters.
TEST_P(ReplayOfProcesses, RepeatsAShardedOptimizer) {
  write_large_segmenter();
  const Words more = {"--set", "train.shard_optimizer=true", "--set", "train.epochs=4", "--set", "train.checkpoint.keep=9"};
  const Ran ran = mpirun(GetParam(), 3, job("out", more));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("from the best parameters on"));
  int compared = 0, gone_back = 0;
  for (const int step : {2, 4, 6, 8}) {
    const Ran verified = graphrun({"verify", "out", "--steps", std::to_string(step)});
    EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
    compared += verified.out.find(", the same bits\nresult") != std::string::npos ? 1 : 0;
    gone_back += verified.out.find("the schedule may have gone back to the best parameters") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(compared, 1);
  EXPECT_EQ(compared + gone_back, 4);
  expect_replayed("out", 8, "the checkpoint of update 6");
}

// Each part of the stream has states of its own. A checkpoint within an update has other sums than the update before it.
TEST_P(ReplayOfProcesses, RepeatsTheWindowsOfAStream) {
  write_language_model();
  const auto words = [](const std::string& out, const Words& more = {}) {
    return stream_job(out, Words{"--set", "train.checkpoint.keep=9"} + more);
  };
  const Words saves = {"--set", "train.checkpoint.every_minutes=1e-9"};  // after each batch, as one process may
  EXPECT_EQ(graphrun_under("int:metrics.jsonl:45", words("out", saves)).code, 128 + SIGINT);
  const Ran ran = mpirun(GetParam(), 2, words("out", {"--resume"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const int stopped = json_lines(read("out/starts.jsonl"))[1]["step"];
  ASSERT_GE(stopped, 3);
  expect_verified("out", 28, "of the checkpoint of update 28, the same bits");
  expect_verified("out", stopped, "not compared: that of update " + std::to_string(stopped) + " was saved after ");
  expect_replayed("out", stopped + 1, "the checkpoint of update " + std::to_string(stopped));
  expect_replayed("out", 20, "the checkpoint of update 14");
}

// With a batch for each process, or with one process, the order is that of one process.
TEST_P(ReplayOfProcesses, SaysWhatItCannotRepeat) {
  const Words by_process = {"--set", "train.sum=BY_PROCESS", "--set", "train.checkpoint.keep=9"};
  const Ran four = mpirun(GetParam(), 4, job("four", by_process));
  ASSERT_EQ(four.code, 0) << four.err;
  expect_verified("four", 6, "of the checkpoint of update 6, the same bits");

  ASSERT_EQ(graphrun(job("two", by_process + Words{"--set", "train.epochs=1"})).code, 0);
  ASSERT_EQ(mpirun(GetParam(), 2, job("two", by_process + Words{"--resume", "--set", "train.epochs=2"})).code, 0);
  ASSERT_EQ(graphrun(job("two", by_process + Words{"--resume"})).code, 0);
  expect_verified("two", 2, "of the checkpoint of update 2, the same bits");
  expect_replayed("two", 6, "the checkpoint of update 4");
  const std::string message =
      "error[E0528 sums-by-process]: 2 processes made updates 3 to 4 of the run in 'two', and each first added the gradients "
      "of "
      "its own batches (train.sum: BY_PROCESS)\n"
      "  note: one process would add the same gradients in another order, with other last bits\n";
  const Ran verified = graphrun({"verify", "two", "--steps", "6"}), replayed = graphrun({"replay", "two", "--step", "4"});
  EXPECT_EQ(verified.code, 2) << verified.out;
  EXPECT_THAT(verified.err, HasSubstr(message));
  EXPECT_EQ(replayed.code, 2) << replayed.out;
  EXPECT_THAT(replayed.err, HasSubstr(message));
}

}  // namespace
}  // namespace graphrun
