// Trainings on several processes that lose one, or in which one hangs, has no room or gets a signal.
// tests/faults/kill_processes kills many more.
#include <gmock/gmock.h>
#include <signal.h>

#include <string>

#include "tests/folders.h"
#include "tests/tools/processes_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FaultsOfProcesses : public SeveralProcessesOf {
 protected:
  // Writes a script that starts a process and, if its rank is `of`, runs `then`; $process is its id. If the script ended at
  // once, a launcher would kill the others before they can report. It outlives the signals that launchers send then.
  void write_guard(const std::string& name, int of, const std::string& then) {
    write(name, "#!/bin/sh\nif [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = " + std::to_string(of) +
                    " ]; then \"$@\" & process=$!; trap : USR1 TERM; " + then + "; fi\nexec \"$@\"\n");
    fs::permissions(root_ / name, fs::perms::owner_all);
  }
  // Writes a script in which the file operations of a process fail.
  void write_fault(const std::string& name, const std::string& fault, int of = 0) {
    write(name, "#!/bin/sh\nif [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = " + std::to_string(of) +
                    " ]; then export LD_PRELOAD='" + tests::build_folder() + "/libfile_faults.so' FILE_FAULT='" + fault +
                    "' ASAN_OPTIONS=\"$ASAN_OPTIONS:verify_asan_link_order=0\"; fi\nexec \"$@\"\n");
    fs::permissions(root_ / name, fs::perms::owner_all);
  }
  // Many updates, with a checkpoint after each second one.
  Words long_job(const std::string& out) const {
    return job(out, {"--begin-or-resume", "--set", "train.checkpoint.every_steps=2", "--set", "train.epochs=30"});
  }
  // In a script: waits until the run has made this many updates.
  static std::string after_updates(const std::string& out, int updates) {
    return "until [ $(cat " + out + "/metrics.jsonl 2>/dev/null | wc -l) -ge " + std::to_string(updates) +
           " ]; do sleep 0.01; done";
  }
};
INSTANTIATE_TEST_SUITE_P(Libraries, FaultsOfProcesses, testing::Values("openmpi", "mpich"),
                         [](const auto& info) { return info.param; });

TEST_P(FaultsOfProcesses, NameTheOneThatWasKilled) {
  write_guard("start.sh", 1,
              "while [ ! -s out/metrics.jsonl ]; do sleep 0.1; done; kill -KILL $process; "
              "until grep -q lost-process out/train.log; do sleep 0.1; done; sleep 1; exit 1");
  const Ran ran = mpirun(GetParam(), 3, job("out", {"--set", "train.epochs=1000000"}), "start.sh");
  // MPICH's launcher combines the exit codes of the processes with that of the one that was killed.
  if (GetParam() == "mpich") {
    EXPECT_NE(ran.code, 0) << ran.err;
  } else {
    EXPECT_EQ(ran.code, 1) << ran.err;
  }
  EXPECT_EQ(times(ran.err, "error[E0532 lost-process]: process 1 on '"), 1u) << ran.err;
  const Ran rest = graphrun(job("out", {"--resume", "--set", "train.epochs=1"}));
  EXPECT_EQ(rest.code, 0) << rest.err;
}

// Messages of the others may arrive after a process is lost, when nobody waits for them any more.
TEST_P(FaultsOfProcesses, KeepTheMemoryOfMessagesInProgress) {
  write_guard("guard", 1, after_updates("out", 1) + "; kill -KILL $process; wait $process; sleep 1; exit 1");
  write("late", "#!/bin/sh\n" + export_mpi_fault("late", GetParam()) + "\nexec '" + path("guard") + "' \"$@\"\n");
  fs::permissions(root_ / "late", fs::perms::owner_all);
  const Ran ran = mpirun(GetParam(), 3, job("out", {"--set", "train.epochs=1000000"}), "late");
  EXPECT_NE(ran.code, 0) << ran.err;
  EXPECT_EQ(times(ran.err, "error[E0532 lost-process]: process 1 on '"), 1u) << ran.err;
  EXPECT_EQ(times(ran.err, "AddressSanitizer"), 0u) << ran.err;
}

// The signal comes once the run has begun, even on a slow machine.
TEST_F(SeveralProcesses, SaveAtASignalAndContinue) {
  if (!can_run("openmpi") && !can_run("mpich"))
    GTEST_SKIP() << "no MPI library is installed here; tools/setup --mpi installs two";
  std::string command = tests::build_folder() + "/graphrun";
  for (const std::string& word : job("out", {"--processes", "2", "--set", "train.epochs=1000000"}))
    command += " '" + word + "'";
  const Ran ran =
      run("/bin/sh", {"-c", command + " & while [ ! -s out/metrics.jsonl ]; do sleep 0.1; done; kill -TERM $!; wait $!"});
  EXPECT_EQ(ran.code, 128 + SIGTERM) << ran.err;
  EXPECT_EQ(times(ran.err, "stopped by signal 15"), 1u) << ran.err;
  const Ran rest = graphrun(job("out", {"--resume", "--set", "train.epochs=1"}));
  EXPECT_EQ(rest.code, 0) << rest.err;
}

// Each process is killed, process 0 also within saves; another number of processes continues.
TEST_P(FaultsOfProcesses, LeaveTheSameFilesAfterKills) {
  ASSERT_EQ(graphrun(long_job("one")).code, 0);
  int processes = 2;
  const auto killed = [&](const std::string& start) {
    const Ran ran = mpirun(GetParam(), processes, long_job("out"), start);
    EXPECT_NE(ran.code, 0) << start << " " << ran.err;
    EXPECT_EQ(times(ran.err, "error[E") - times(ran.err, "error[E0532 lost-process]"), 0u) << ran.err;
    processes = processes == 4 ? 2 : processes + 1;
  };
  for (const char* fault : {"kill:/checkpoints/:3", "kill:/checkpoints/:25", "kill:/best/:9"}) {
    write_fault("fault", fault);
    killed("fault");
  }
  for (const int rank : {1, 0, 1}) {
    // Some epochs after it has joined the others.
    write_guard(
        "guard", rank,
        "before=$(cat out/train.log | wc -l); until [ $(cat out/train.log | wc -l) -ge $((before + 11)) ]; do sleep 0.01; "
        "done; kill -KILL $process; wait $process; exit 1");
    killed("guard");
  }
  const Ran rest = mpirun(GetParam(), 3, long_job("out"));
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("continuing from step "));
  expect_same("out", "one");
}

// MPI's start waits for all processes for ever.
TEST_P(FaultsOfProcesses, EndIfOneNeverStarts) {
  write_guard("start.sh", 1, "kill -KILL $process; sleep 8; exit 1");
  const Ran ran = mpirun(GetParam(), 2, job("out", {"--silence", "3"}), "start.sh");
  EXPECT_NE(ran.code, 0) << ran.err;
  EXPECT_EQ(times(ran.err, "error[E0532 lost-process]: not all processes have started within 3 seconds (--silence)"), 1u)
      << ran.err;
  EXPECT_FALSE(exists("out"));
}

TEST_P(FaultsOfProcesses, NameTheOneThatIsSilent) {
  write_guard("start.sh", 1,
              after_updates("out", 1) +
                  "; kill -STOP $process; until grep -q lost-process out/train.log; do sleep 0.1; done; "
                  "sleep 1; kill -KILL $process; exit 1");
  const Ran ran = mpirun(GetParam(), 3, job("out", {"--silence", "2", "--set", "train.epochs=1000000"}), "start.sh");
  EXPECT_NE(ran.code, 0) << ran.err;
  EXPECT_EQ(times(ran.err, "error[E0532 lost-process]: process 1 on '"), 1u) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("did not answer for 2 seconds (--silence)"));
  const Ran rest = graphrun(job("out", {"--resume", "--set", "train.epochs=1"}));
  EXPECT_EQ(rest.code, 0) << rest.err;
}

// The others write nothing, so they need no room on the disks of their machines.
TEST_P(FaultsOfProcesses, NeedNoDiskButThatOfProcess0) {
  const std::string full = "full:" + root_.string() + "/:1";
  EXPECT_EQ(graphrun_under(full, job("none")).code, static_cast<int>(ExitCode::kNoRoom));
  ASSERT_EQ(graphrun(job("one")).code, 0);
  for (const int rank : {1, 3}) {
    const std::string out = "out" + std::to_string(rank);
    write_fault("full", full, rank);
    const Ran ran = mpirun(GetParam(), 4, job(out), "full");
    EXPECT_EQ(ran.code, 0) << ran.err;
    expect_same(out, "one");
  }
}

// The disk of process 0, which writes the folder.
TEST_P(FaultsOfProcesses, EndIfADiskIsFull) {
  ASSERT_EQ(graphrun(long_job("one")).code, 0);
  write_fault("full", "full:/checkpoints/:30");
  const Ran alone = graphrun_under("full:/checkpoints/:30", long_job("alone"));
  const Ran ran = mpirun(GetParam(), 2, long_job("out"), "full");
  EXPECT_EQ(ran.code, alone.code) << ran.err;
  EXPECT_NE(ran.code, 0);
  EXPECT_EQ(times(ran.err, "error["), 1u) << ran.err;
  const Ran rest = mpirun(GetParam(), 3, long_job("out"));
  ASSERT_EQ(rest.code, 0) << rest.err;
  expect_same("out", "one");
}

}  // namespace
}  // namespace graphrun
