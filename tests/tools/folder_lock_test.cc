// The folder of a run is locked, also on a file system without flock; --begin-or-resume continues a run or begins it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tests/tools/program_fixture.h"
#include "tools/run/folder_lock.h"

namespace graphrun {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class LockedFolder : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_language_model();
  }
  static std::vector<std::string> words(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"train", "graphs/jobs/words.pbtxt",         "--threads", "1",
                                    "--set", "train.checkpoint.every_steps=15", "--set",     "train.epochs=2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Ran without_flock(const std::vector<std::string>& more, const std::string& fault = "") const {
    Environment environment = {{"FILE_FAULT_FLOCK", "ENOSYS"}};
    if (!fault.empty()) environment.emplace_back("FILE_FAULT", fault);
    return graphrun_with("file_faults", environment, words(more));
  }
};

TEST_F(LockedFolder, IsBegunOrResumed) {
  const Ran whole = graphrun(words({"--out", "whole", "--begin-or-resume"}));
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Ran killed = graphrun_under("kill:/checkpoints/:70", words({"--out", "again", "--begin-or-resume"}));
  ASSERT_EQ(killed.code, 128 + 9) << killed.err;
  const Ran resumed = graphrun(words({"--out", "again", "--begin-or-resume"}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("continuing from step "));
  EXPECT_EQ(read("again/metrics.jsonl"), read("whole/metrics.jsonl"));
  const Ran finished = graphrun(words({"--out", "again", "--begin-or-resume"}));
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.err, HasSubstr("the run in 'again' is finished"));
  const Ran both = graphrun(words({"--out", "again", "--resume", "--begin-or-resume"}));
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--resume and --begin-or-resume do not go together"));
}

TEST_F(LockedFolder, SeedsAreBegunOrResumed) {
  const Ran first = graphrun(words({"--out", "seeds", "--seeds", "1", "--begin-or-resume"}));
  ASSERT_EQ(first.code, 0) << first.err;
  const Ran both = graphrun(words({"--out", "seeds", "--seeds", "1,2", "--begin-or-resume"}));
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.err, HasSubstr("the run in 'seeds/seed-1' is finished"));
  EXPECT_TRUE(exists("seeds/seed-2/manifest.json"));
}

TEST_F(LockedFolder, NeedsNoFlock) {
  const Ran whole = without_flock({"--out", "whole"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(read("whole/run.lock"), IsEmpty());  // released
  const auto mode = [&](const std::string& name) { return std::filesystem::status(path(name)).permissions(); };
  EXPECT_EQ(mode("whole/run.lock"), mode("whole/metrics.jsonl"));
  // The lock of a process that was killed is taken over.
  ASSERT_EQ(without_flock({"--out", "again"}, "kill:/checkpoints/:20").code, 128 + 9);
  EXPECT_THAT(read("again/run.lock"), StartsWith("process "));
  const Ran resumed = without_flock({"--out", "again", "--resume"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(read("again/metrics.jsonl"), read("whole/metrics.jsonl"));
}

// A process that was killed while it took the lock leaves the file that it would have renamed.
TEST_F(LockedFolder, DropsWhatAKilledProcessLeft) {
  const auto left = [&] {
    std::vector<std::string> names;
    for (const std::string& name : names_in(path("out"))) {
      if (name.starts_with("run.lock.")) names.push_back(name);
    }
    return names;
  };
  ASSERT_EQ(without_flock({"--out", "out"}, "kill:run.lock.:2").code, 128 + 9);
  EXPECT_EQ(left().size(), 1u);
  const std::string running = "run.lock." + machine_name() + "-" + std::to_string(getpid());
  write("out/" + running, "");
  ASSERT_EQ(without_flock({"--out", "out", "--set", "train.epochs=1"}).code, 0);
  EXPECT_THAT(left(), testing::ElementsAre(running));
}

TEST_F(LockedFolder, WithoutFlockBelongsToWhoeverMayBeRunning) {
  ASSERT_EQ(without_flock({"--out", "out"}).code, 0);
  const auto refused = [&](const std::string& text) {
    write("out/run.lock", text);
    const Ran ran = without_flock({"--out", "out", "--resume"});
    EXPECT_EQ(read("out/run.lock"), text);
    return ran.code == 0 ? "" : ran.err;
  };
  EXPECT_THAT(refused("process 1 on machine 'another'\nstarted 5 after boot b\n"),
              testing::AllOf(HasSubstr("error[E0522 run-busy]: process 1 on machine 'another' is training into 'out'"),
                             HasSubstr("help: if its machine has failed, remove 'out/run.lock'")));
  // This process runs, but it was not started then: another process had its number.
  write("out/run.lock",
        "process " + std::to_string(getpid()) + " on machine '" + machine_name() + "'\nstarted 5 after boot b\n");
  EXPECT_EQ(without_flock({"--out", "out", "--resume"}).code, 0);
}

TEST_F(LockedFolder, IsHeldOnce) {
  const std::string file = path("run.lock");
  FolderLock lock(file, "here");
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(lock.at(file));
  EXPECT_THROW(FolderLock(file, "here"), UserError);
  FolderLock moved = std::move(lock);
  EXPECT_FALSE(lock.held());  // NOLINT: moved from
  EXPECT_THROW(FolderLock(file, "here"), UserError);
  moved = FolderLock();
  EXPECT_TRUE(FolderLock(file, "here").held());
}

}  // namespace
}  // namespace graphrun
