// Several processes with a device each, here emulated ones, whose gradients pass from device to device.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/folders.h"
#include "tests/tools/processes_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProcessesOnCuda : public SeveralProcesses {
 protected:
  void SetUp() override {
    mpi_ = can_run("openmpi") ? "openmpi" : "mpich";
    if (!can_run(mpi_)) GTEST_SKIP() << "no MPI library is installed here; tools/setup --mpi installs two";
    SeveralProcesses::SetUp();
    set("GRAPHRUN_CUDA_LIBRARY", tests::build_folder() + "/libgraphrun_cuda_emulated.so");
    set("GRAPHRUN_EMULATED_DEVICES", "3");
    set("NCCL_EMULATION_LOG", path("nccl.log"));
  }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    if (!root_.empty()) SeveralProcesses::TearDown();
  }
  void set(const std::string& name, const std::string& value) {
    set_.insert(name);
    setenv(name.c_str(), value.c_str(), 1);
  }

  Ran one(const std::string& out, const Words& more = {}) const {
    return graphrun(job(out, more + Words{"--device", "cuda:0"}));
  }
  Ran several(int processes, const std::string& out, const Words& more = {}, const std::string& start = "") const {
    return mpirun(mpi_, processes, job(out, more + Words{"--device", "cuda:all"}), start);
  }
  // What communicators left since the last call.
  std::string left() {
    const std::string text = exists("nccl.log") ? read("nccl.log") : "";
    write("nccl.log", "");
    return text;
  }

  std::string mpi_;
  std::set<std::string> set_;
};

TEST_F(ProcessesOnCuda, LeaveTheFilesOfOne) {
  const Ran alone = one("one");
  ASSERT_EQ(alone.code, 0) << alone.err;
  const Ran first = graphrun(job("of1", {"--device", "cuda:all", "--processes", "1"}));
  ASSERT_EQ(first.code, 0) << first.err;
  expect_same("of1", "one");
  EXPECT_EQ(left(), "");
  for (const int n : {2, 3}) {
    const std::string out = "of" + std::to_string(n);
    const Ran ran = several(n, out);
    ASSERT_EQ(ran.code, 0) << ran.err;
    expect_same(out, "one");
    EXPECT_EQ(ran.out, alone.out);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("processes: " + std::to_string(n) + " on 1 machine, 1 thread each, "),
                               HasSubstr(", NCCL 2.28.9; 4 batches per update, ")));
    const std::string log = left();
    EXPECT_EQ(times(log, " 0 sums, destroyed\n"), static_cast<std::size_t>(n)) << log;
    EXPECT_EQ(times(log, ": 0 groups"), 0u) << log;
    EXPECT_EQ(times(log, " 0 gathers"), 0u) << log;
  }
}

// With every kind of slot, and a schedule that goes back to the best parameters and slots, in the middle of updates.
TEST_F(ProcessesOnCuda, ValidateAndGoBackWithinUpdates) {
  write_large_segmenter();
  const Words within = {"--set", "train.validate.every_epochs=0", "--set", "train.validate.times_per_epoch=3"};
  const Ran alone = one("one", within);
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_THAT(alone.err, HasSubstr("from the best parameters on"));
  const Ran ran = several(3, "three", within);
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_same("three", "one");
  EXPECT_EQ(ran.out, alone.out);
}

TEST_F(ProcessesOnCuda, ContinueWithAnotherNumber) {
  ASSERT_EQ(one("one").code, 0);
  EXPECT_EQ(graphrun_under("int:metrics.jsonl:3", job("parts", {"--device", "cuda"})).code, 128 + SIGINT);
  const Ran three = several(3, "parts", {"--resume", "--set", "train.updates=4"});
  ASSERT_EQ(three.code, 0) << three.err;
  const Ran two = several(2, "parts", {"--resume"});
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.err, HasSubstr("continuing from step 4"));
  EXPECT_TRUE(read_below("parts/best", "parameters.safetensors") == read_below("one/best", "parameters.safetensors"));
}

// Without NCCL, they pass through the host.
TEST_F(ProcessesOnCuda, AddOnTheHostIfAskedTo) {
  ASSERT_EQ(one("one").code, 0);
  set("GRAPHRUN_NCCL_LIBRARY", "none");
  const Ran ran = several(2, "two");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr(", gradients through the host; "));
  EXPECT_EQ(left(), "");
  expect_same("two", "one");
}

// NCCL adds as it likes.
TEST_F(ProcessesOnCuda, AddTheirOwnBatchesFirst) {
  const Words by_process = {
      "--set", "train.sum=BY_PROCESS", "--set", "train.validate.every_epochs=0", "--set", "train.validate.times_per_epoch=3"};
  const Ran ran = several(2, "two", by_process);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string log = left();
  EXPECT_EQ(times(log, ": 0 groups, 0 gathers, "), 2u) << log;
  EXPECT_EQ(times(log, " 0 sums"), 0u) << log;
  ASSERT_EQ(several(2, "again", by_process).code, 0);
  expect_same("again", "two");
  ASSERT_EQ(one("alone", by_process).code, 0);
  const auto loss = [&](const std::string& out) {
    const std::string text = read(out + "/metrics.jsonl");
    return std::atof(text.c_str() + text.rfind("\"loss\":") + 7);
  };
  EXPECT_NEAR(loss("two"), loss("alone"), 1e-3 * loss("alone"));
}

// It ends when all others wait for what it should send.
TEST_F(ProcessesOnCuda, EndIfOneIsKilledInAnExchange) {
  set("NCCL_EMULATION_KILL", "1:9");  // the ninth group of process 1
  write("start.sh",
        "#!/bin/sh\nif [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 ]; then \"$@\" & process=$!; trap : USR1 TERM; wait "
        "$process; until grep -q lost-process out/train.log; do sleep 0.1; done; sleep 1; exit 1; fi\nexec \"$@\"\n");
  fs::permissions(root_ / "start.sh", fs::perms::owner_all);
  const Ran ran = several(3, "out", {"--set", "train.epochs=1000000"}, "start.sh");
  EXPECT_NE(ran.code, 0) << ran.err;
  EXPECT_EQ(times(ran.err, "error[E0532 lost-process]: process 1 on '"), 1u) << ran.err;
  const std::string log = left();
  EXPECT_EQ(times(log, "aborted"), 2u) << log;
  unsetenv("NCCL_EMULATION_KILL");
  const Ran rest = several(2, "out", {"--resume", "--set", "train.epochs=1"});
  EXPECT_EQ(rest.code, 0) << rest.err;
}

// An error of one process is reported once; the others wait for what it should send.
TEST_F(ProcessesOnCuda, SayWhatNcclSays) {
  set("NCCL_EMULATION_FAIL", "1:9");
  const Ran ran = several(3, "out", {"--set", "train.epochs=1000000"});
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("process 1 on '"),
                             HasSubstr("error[E0513 cuda]: NCCL, an exchange: unhandled system error: a cable was pulled")));
  EXPECT_EQ(times(ran.err, "error["), 1u) << ran.err;
  EXPECT_EQ(times(left(), "aborted"), 3u);
}

TEST_F(ProcessesOnCuda, NeedNccl) {
  set("GRAPHRUN_NCCL_LIBRARY", "/none.so");
  const Ran ran = several(2, "out");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_THAT(ran.err,
              HasSubstr("error[E0539 no-nccl]: several processes with GPUs need NCCL to add their gradients: its library "
                        "does not load: /none.so: "));
  EXPECT_THAT(ran.err, HasSubstr("help: with GRAPHRUN_NCCL_LIBRARY=none, gradients pass through the host"));
  EXPECT_EQ(times(ran.err, "error["), 1u) << ran.err;
  set("GRAPHRUN_NCCL_LIBRARY", tests::build_folder() + "/libgraphrun.so");
  EXPECT_THAT(several(2, "out").err, HasSubstr("add their gradients: its library has no function ncclGetVersion"));
}

TEST_F(ProcessesOnCuda, HaveADeviceEach) {
  const Ran same = mpirun(mpi_, 2, job("out", {"--device", "cuda:1"}));
  EXPECT_EQ(same.code, 2) << same.err;
  EXPECT_THAT(same.err, AllOf(HasSubstr("error[E0538 shared-gpu]: process 0 on '"), HasSubstr("' and process 1 on '"),
                              HasSubstr("' have the same GPU, GPU-emulated-1\n  help: --device cuda:all gives each process")));
  EXPECT_EQ(times(same.err, "error["), 1u) << same.err;

  set("GRAPHRUN_EMULATED_DEVICES", "2");
  const Ran many = several(3, "out");
  EXPECT_EQ(many.code, 2) << many.err;
  EXPECT_THAT(many.err,
              AllOf(HasSubstr("error[E0508 no-device]: 'cuda:all' gives each of several processes a GPU of its own, but '"),
                    HasSubstr("' has 3 processes and 2 GPUs\n  help: start at most 2 processes there; --device cuda, if ")));
  EXPECT_EQ(times(many.err, "error["), 1u) << many.err;
  EXPECT_FALSE(exists("out"));
}

// Without a launcher, as many processes as there are devices.
TEST_F(ProcessesOnCuda, AreStartedForAllDevices) {
  const Ran three = graphrun(job("three", {"--device", "cuda:all"}));
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_THAT(three.err, HasSubstr("processes: 3 on 1 machine"));
  const Ran two = graphrun(job("two", {"--device", "cuda:all", "--processes", "2"}));
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.err, HasSubstr("processes: 2 on 1 machine"));
  set("GRAPHRUN_EMULATED_DEVICES", "1");
  const Ran one = graphrun(job("one", {"--device", "cuda:all"}));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.err, AllOf(HasSubstr("device: cuda, an emulated device"), Not(HasSubstr("processes: "))));
  expect_same("three", "one");
  expect_same("two", "one");
}

TEST_F(ProcessesOnCuda, ShareWhatIsEvaluatedAndWritten) {
  ASSERT_EQ(one("model").code, 0);
  std::string lines;
  for (int i = 0; i < 30; ++i) lines += "我天上大家\n中国人你\n";
  write("lines", lines);
  for (const Words& words : {Words{"evaluate", "model"}, Words{"infer", "model", "lines", "--rows", "4"}}) {
    const Ran alone = graphrun(words + Words{"--device", "cuda", "--threads", "1"});
    const Ran shared = mpirun(mpi_, 3, words + Words{"--device", "cuda:all", "--threads", "1"});
    EXPECT_EQ(shared.code, 0) << shared.err;
    EXPECT_EQ(shared.out, alone.out);
    const Ran alone_with_all = graphrun(words + Words{"--device", "cuda:all"});
    EXPECT_EQ(alone_with_all.code, 2) << alone_with_all.err;
    EXPECT_THAT(alone_with_all.err, HasSubstr("error[E0508 no-device]: 'cuda:all' gives each of several processes a GPU of its "
                                              "own, but this is one process"));
  }
}

// The commands of the page, with three devices for eight.
TEST_F(ProcessesOnCuda, RunTheCommandsOfThePage) {
  std::ifstream page(tests::source_folder() + "/tools/processes/README.md");
  std::string title, text;
  bool is_shell = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) title = line;
    if (line.starts_with("```")) is_shell = line == "```sh";
    if (is_shell && title == "## One machine with several GPUs" && !line.starts_with("```")) text += line + "\n";
  }
  EXPECT_EQ(times(text, "\n"), 4u) << text;
  const auto put = [&text](const std::string& old, const std::string& now) {
    ASSERT_NE(text.find(old), std::string::npos) << old;
    for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += now.size())
      text.replace(at, old.size(), now);
  };
  put("--set train.accumulate=8", "--set train.accumulate=3");
  put("-np 8", "-np 3");
  put("--out DIR --device cuda:all --processes 4", "--out DIR2 --device cuda:all --processes 2 --set train.accumulate=2");
  put("JOB", "graphs/jobs/segment.pbtxt --set train.per=batch --threads 1");
  put("mpirun", "/usr/bin/mpirun." + mpi_);
  write("lines.txt", "我天上大家\n中国人你\n我\n");
  write("commands", "set -e\nexport PATH=" + tests::build_folder() + ":$PATH OMPI_MCA_rmaps_base_oversubscribe=1\n" + text);
  const Ran ran = run("/bin/sh", {path("commands")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("processes: 3 on 1 machine"), HasSubstr("processes: 2 on 1 machine")));
  EXPECT_EQ(times(read("out.txt"), "\n"), 3u);
}

}  // namespace
}  // namespace graphrun
